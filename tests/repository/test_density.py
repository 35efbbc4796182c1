"""How much one line asks of its reader: figures by file, which may only fall.

`density.toml` holds today's figures of the files that miss an aim. A file without an entry must meet every aim. A file
that gets better must have its entry lowered. This command writes the table anew and names what rose:

    python tests/repository/test_density.py
"""

import ast
import io
import math
import subprocess
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("density.toml")
COMMAND = "python tests/repository/test_density.py"

TOKENS = "tokens_a_line"
# The aim of tokens a line; every other figure counts places, of which there should be none.
TOKENS_AIM = 9.5
TOKENS_AIM_OF_TESTS = 12.5
# Tokens a line are compared in steps, so that a small change of a file leaves its entry alone.
TOKENS_STEP = 0.5
VAGUE_NAMES = {"found", "each"}
MOST_POSITIONAL = 5

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPUTATIONS = (ast.Call, ast.BinOp, ast.IfExp, *COMPREHENSIONS)

Figures = dict[str, float]


def find_docstring_lines(tree: ast.Module) -> set[int]:
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def count_tokens_a_line(source: str, tree: ast.Module) -> float:
    """Mean number of tokens on a line of code, without comments, docstrings and blank lines."""
    docstring_lines = find_docstring_lines(tree)
    count = 0
    code_lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in LAYOUT or token.start[0] in docstring_lines:
            continue
        count += 1
        code_lines.update(range(token.start[0], token.end[0] + 1))
    return count / len(code_lines) if code_lines else 0.0


def has_comprehension(node: ast.AST) -> bool:
    return any(isinstance(inner, COMPREHENSIONS) for inner in ast.walk(node))


def is_nested_comprehension(node: ast.AST) -> bool:
    """Whether a comprehension has another one in what it makes or in its condition."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    for generator in node.generators:
        parts += generator.ifs
    return any(map(has_comprehension, parts))


def is_nested_conditional(node: ast.AST) -> bool:
    """Whether a conditional expression has another one anywhere inside."""
    if not isinstance(node, ast.IfExp):
        return False
    return sum(isinstance(inner, ast.IfExp) for inner in ast.walk(node)) > 1


def is_parallel_assignment(node: ast.AST) -> bool:
    """Whether an assignment makes several names from two or more computations: `a, b = f(x), g(y)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    if not isinstance(node.targets[0], ast.Tuple):
        return False
    return sum(isinstance(value, COMPUTATIONS) for value in node.value.elts) > 1


def is_long_positional_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL


def is_vague_binding(node: ast.AST) -> bool:
    """Whether a local or an argument gets a name that does not say what it holds."""
    if isinstance(node, ast.arg):
        return node.arg in VAGUE_NAMES
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE_NAMES


COUNTED = {
    "nested_comprehensions": is_nested_comprehension,
    "nested_conditionals": is_nested_conditional,
    "parallel_assignments": is_parallel_assignment,
    "calls_with_six_positional": is_long_positional_call,
    "locals_named_found_or_each": is_vague_binding,
}


def measure(source: str) -> Figures:
    """Tokens a line, and how many places of each kind, in one file."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    figures: Figures = {TOKENS: count_tokens_a_line(source, tree)}
    for name, is_counted in COUNTED.items():
        figures[name] = sum(map(is_counted, nodes))
    return figures


def aim_of(file: str, figure: str) -> float:
    if figure != TOKENS:
        return 0
    return TOKENS_AIM_OF_TESTS if file.startswith("tests/") else TOKENS_AIM


def keep_missed(file: str, figures: Figures) -> Figures:
    """The figures of a file above their aims, tokens a line rounded up to the next step."""
    missed = {}
    for name, value in figures.items():
        if name == TOKENS:
            value = math.ceil(value / TOKENS_STEP) * TOKENS_STEP
        if value > aim_of(file, name):
            missed[name] = value
    return missed


def list_files() -> list[str]:
    """The Python files of the checkout, those not yet tracked too."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


@cache
def measure_files() -> dict[str, Figures]:
    """File to the figures that miss an aim; files that meet all aims are left out."""
    missed = {}
    for file in list_files():
        figures = keep_missed(file, measure((ROOT / file).read_text(encoding="utf-8")))
        if figures:
            missed[file] = figures
    return missed


def read_table() -> dict[str, Figures]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def write_table(measured: dict[str, Figures]) -> None:
    lines = [f"# Figures that may only fall. `{COMMAND}` writes this file.\n"]
    for file, figures in measured.items():
        lines.append(f'["{file}"]')
        lines += [f"{name} = {value:g}" for name, value in figures.items()]
        lines.append("")
    TABLE.write_text("\n".join(lines), encoding="utf-8")


def compare_figures(
    measured: dict[str, Figures],
    allowed: dict[str, Figures],
) -> Iterator[tuple[str, str, float, float]]:
    """Each figure that differs from the table: file, name, value now, and value allowed."""
    for file in sorted({*measured, *allowed}):
        now = measured.get(file, {})
        limits = allowed.get(file, {})
        for name in (TOKENS, *COUNTED):
            aim = aim_of(file, name)
            value = now.get(name, aim)
            limit = limits.get(name, aim)
            if value != limit:
                yield file, name, value, limit


def describe(differences: Iterable[tuple[str, str, float, float]]) -> list[str]:
    return [f"{file}: {name} {value:g}, allowed {limit:g}" for file, name, value, limit in differences]


def test_no_figure_rises() -> None:
    differences = compare_figures(measure_files(), read_table())
    risen = describe(row for row in differences if row[2] > row[3])
    assert not risen, "a line must say one thing; rewrite these files:\n" + "\n".join(risen)


def test_a_figure_that_fell_is_lowered_in_the_table() -> None:
    differences = compare_figures(measure_files(), read_table())
    fallen = describe(row for row in differences if row[2] < row[3])
    assert not fallen, f"these files got better; lower their entries with `{COMMAND}`:\n" + "\n".join(fallen)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[[y for y in x] for x in rows]", {"nested_comprehensions": 1}),
        ("{k: 1 for k in a if any(x for x in k)}", {"nested_comprehensions": 1}),
        ("{k: [v for v in a] for k in b}", {"nested_comprehensions": 1}),
        ("[x for x in [y for y in z]]", {}),  # one after the other: the inner one is what the outer one reads
        ("a if b else c if d else e", {"nested_conditionals": 1}),
        ("f(a if b else c) if d else e", {"nested_conditionals": 1}),
        ("[a if b else c, d if e else f]", {}),
        ("a, b = f(x), g(y)", {"parallel_assignments": 1}),
        ("a, b = x + 1, [y for y in x]", {"parallel_assignments": 1}),
        ("a, b = b, a", {}),
        ("a, b = f(x), 0", {}),
        ("f(1, 2, 3, 4, 5, 6)", {"calls_with_six_positional": 1}),
        ("f(1, 2, 3, 4, 5, six=6)", {}),
        ("found = [each for each in rows]", {"locals_named_found_or_each": 2}),
        ("def f(found): return found", {"locals_named_found_or_each": 1}),
    ],
)
def test_places_are_counted(source: str, expected: dict[str, int]) -> None:
    figures = measure(source)
    assert {name: value for name, value in figures.items() if name != TOKENS and value} == expected


def test_tokens_are_counted_on_lines_of_code() -> None:
    source = '"""Says what."""\n\nx = 1  # why\n\n\ndef f():\n    """Says what."""\n    return x\n'
    assert measure(source)[TOKENS] == (3 + 5 + 2) / 3


def test_tokens_are_compared_in_steps() -> None:
    assert keep_missed("core/a.py", {TOKENS: 9.5}) == {}
    assert keep_missed("core/a.py", {TOKENS: 9.51}) == {TOKENS: 10}
    assert keep_missed("core/a.py", {TOKENS: 10.0}) == {TOKENS: 10}
    assert keep_missed("tests/core/test_a.py", {TOKENS: 12.4}) == {}


def test_a_new_file_must_meet_the_aims() -> None:
    measured = {"core/new.py": {TOKENS: 10.0, "nested_comprehensions": 1}}
    assert describe(compare_figures(measured, {})) == [
        "core/new.py: tokens_a_line 10, allowed 9.5",
        "core/new.py: nested_comprehensions 1, allowed 0",
    ]


def test_an_entry_of_a_file_that_is_gone_is_lowered() -> None:
    assert describe(compare_figures({}, {"core/old.py": {"nested_conditionals": 2}})) == [
        "core/old.py: nested_conditionals 0, allowed 2"
    ]


def main() -> None:
    """Writes the table from the files as they are, and prints the figures that rose."""
    measured = measure_files()
    before = read_table() if TABLE.exists() else measured
    write_table(measured)
    for line in describe(row for row in compare_figures(measured, before) if row[2] > row[3]):
        print(f"risen: {line}")


if __name__ == "__main__":
    main()

"""Configuration: checks the settings that Hydra composed, before libraries are loaded, and finds their names."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import Field

from core import settings
from core.errors import SettingError, causes, suggest_similar
from core.settings import Seed, Text, check, one_of, refuse_network_in_file
from core.source import Module, find_module

CUES = ("ridge", "none")
PLOTS = ("png", "svg", "pdf")
BUILT = ("experiment", "logger")  # settings that the runner builds objects of
REFERENCE = re.compile(r"\$\{([\w.]+)\}")
PLACE = re.compile(r"full_key: (\S+)")  # in Hydra's message
# the types that an annotation of a checked value may name, and the modules that they are imported from
TYPES: dict[str, Any] = {
    **vars(settings),
    "Annotated": Annotated,
    "Literal": Literal,
    "Field": Field,
    "Mapping": Mapping,
}
PLAIN = {kind.__name__: kind for kind in (bool, int, float, str)}
ORIGINS = ("core.settings", "typing", "pydantic", "collections.abc", "pathlib")
UNKNOWN = ast.Constant("")  # a type that the source alone does not tell


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields `node` and every value inside it, each with its dotted path.

    >>> list(walk({"a": [2]}))
    [('', {'a': [2]}), ('a', [2]), ('a[0]', 2)]
    """
    yield path, node
    if isinstance(node, Mapping):
        start = f"{path}." if path else ""
        for key, value in node.items():
            yield from walk(value, f"{start}{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from walk(value, f"{path}[{number}]")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value at or below `node`, with its dotted path, except mappings and lists that are not empty."""
    for place, value in walk(node, path):
        has_content = isinstance(value, Mapping | list) and len(value) > 0
        if not has_content:
            yield place, value


def resolve(config: DictConfig, typed: Sequence[str] = ()) -> dict[str, Any]:
    """Resolves a configuration in place; returns its plain values. `typed` has the settings of the command line.

    Raises SettingError for missing required settings, references to unknown settings, wrong values of common settings,
    settings that nothing takes, and a network that the command line does not allow.
    """
    unresolved: Any = OmegaConf.to_container(config)
    missing = sorted(key for key, value in leaves(unresolved) if value == MISSING)
    if missing:
        raise SettingError("\n".join(f"{key} must be given: {key}=VALUE" for key in missing))
    try:
        OmegaConf.resolve(config)
    except OmegaConfBaseException as error:
        raise SettingError(" ".join(str(error).split())) from error
    if isinstance(config.plots, str):
        config.plots = [config.plots]
    for kind in config.plots:
        check(one_of(PLOTS), plots=kind)
    check(Seed, seed=config.seed)
    check(one_of(CUES), cues=config.cues)
    check(bool, network=config.network, dry_run=config.dry_run)
    check(Text, stages_dir=config.stages_dir)
    is_typed = any(word.lstrip("+").startswith("network=") for word in typed)
    if config.network and not is_typed:
        refuse_network_in_file()
    plain: Any = OmegaConf.to_container(config)
    built = {name: plain.get(name) for name in BUILT}
    faults = [
        name_line(line, place, unresolved)
        for place, node in walk(built)
        if isinstance(node, Mapping) and isinstance(node.get("_target_"), str)
        for line in list_faults(node)
    ]
    if faults:
        raise SettingError("\n".join(dict.fromkeys(faults)))
    return plain


def list_faults(node: Mapping[str, Any]) -> list[str]:
    """Lists settings that a target does not take, and wrong values. Reads code without importing it."""
    target = node["_target_"]
    types = find_arguments(target)
    if types is None:
        return []
    faults: list[str] = []
    for key, value in node.items():
        if key in types:
            faults += list_wrong(types[key], key, value)
        elif not key.startswith("_"):
            _, _, name = target.rpartition(".")
            faults.append(f"{key} is no setting of {name}{suggest_similar(key, types)}")
    return faults


def list_wrong(kind: ast.expr, key: str, value: Any) -> list[str]:
    """Lists the faults of a plain value, if its annotation tells its type."""
    has_objects = any(isinstance(inner, Mapping) for _, inner in walk(value))
    if has_objects or isinstance(kind, ast.Constant):
        return []
    wanted = eval(ast.unparse(kind), TYPES)
    try:
        check(wanted, **{key: value})
    except SettingError as fault:
        return str(fault).splitlines()
    return []


def find_arguments(target: str) -> dict[str, ast.expr] | None:
    """Finds the arguments of a function or class of this project by its dotted name, with their types.

    A type that the source alone does not tell is a constant. None where the source alone does not tell.
    """
    first, *inner = target.split(".")
    module = find_module(first)
    while module is not None and module.is_package and inner:
        first = f"{first}.{inner.pop(0)}"
        module = find_module(first)
    if module is None or not inner:
        return None
    return _find_arguments(module, *inner)


def _find_arguments(module: Module, name: str, method: str = "__init__") -> dict[str, ast.expr] | None:
    """The arguments of what a module defines or imports under a name."""
    for statement in module.defined.get(name, ()):
        if isinstance(statement, ast.FunctionDef):
            return _read_function(module, statement)
        if isinstance(statement, ast.ClassDef):
            return _read_class(module, statement, method)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for origin, inner in module.find_imported(statement):
                return _find_arguments(origin, inner, method)
    return None


def _read_type(module: Module, annotation: ast.expr | None) -> ast.expr:
    """The annotation if all that it names is a type of `TYPES`, by the imports of its module; else `UNKNOWN`."""
    if annotation is None:
        return UNKNOWN
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return annotation if all(_is_type(module, name) for name in names) else UNKNOWN


def _is_type(module: Module, name: str) -> bool:
    """Whether a name of a module is a type of `TYPES` or `PLAIN`, and not another one of the same name."""
    statements = module.defined.get(name)
    if statements is None:
        return name in PLAIN
    imports = [statement for statement in statements if isinstance(statement, ast.ImportFrom)]
    return name in TYPES and len(imports) == len(statements) and all(each.module in ORIGINS for each in imports)


def _read_function(module: Module, function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """The arguments of a function or a method; None if it takes any."""
    if function.args.kwarg is not None:
        return None
    types: dict[str, ast.expr] = {}
    for argument in (*function.args.args, *function.args.kwonlyargs):
        types[argument.arg] = _read_type(module, argument.annotation)
    return types


def _read_class(module: Module, kind: ast.ClassDef, method: str) -> dict[str, ast.expr] | None:
    """The arguments of a method, or the fields of a dataclass, also of those that it extends."""
    types: dict[str, ast.expr] = {}
    for base in kind.bases if method == "__init__" else ():
        above = _find_arguments(module, base.id) if isinstance(base, ast.Name) else None
        if above is None:
            return None
        types |= above
    for statement in kind.body:
        match statement:
            case ast.FunctionDef() if statement.name == method:
                return _read_function(module, statement)
            case ast.AnnAssign(target=ast.Name(name)) if method == "__init__":
                types[name] = _read_type(module, statement.annotation)
    return types if kind.decorator_list and method == "__init__" else None


def build_experiment(config: DictConfig, unresolved: Mapping[str, Any]) -> Any:
    """Builds the experiment's function with its arguments; the runner passes the Run.

    Raises SettingError, with the whole key, for a setting that an argument refuses.
    """
    try:
        return instantiate(config.experiment, _convert_="all", _partial_=True)
    except InstantiationException as error:
        fault = next((cause for cause in causes(error) if isinstance(cause, SettingError)), None)
        place = PLACE.search(str(error))
        if fault is None or place is None:
            raise
        lines = (name_line(line, place[1], unresolved) for line in str(fault).splitlines())
        raise SettingError("\n".join(lines)) from error


def name_line(line: str, place: str, unresolved: Mapping[str, Any]) -> str:
    """Rewrites an error of an argument at `place`, so that the error names the setting that the user types.

    >>> config = {"experiment": {"plan": "${model.negatives}"}, "model": {"negatives": {"dialogues": 0}}}
    >>> name_line("dialogues must be positive", "experiment.plan", config)
    'model.negatives.dialogues must be positive'
    >>> name_line("either of both", "experiment.plan", config)
    'model.negatives: either of both'
    """
    name = re.match(r"\w*", line)[0]  # pyright: ignore[reportOptionalSubscript] # it matches nothing too
    setting = find_setting(f"{place}.{name}", unresolved)
    if setting is not None:
        return f"{setting}{line.removeprefix(name)}"
    return f"{find_setting(place, unresolved) or place}: {line}"


def find_setting(place: str, unresolved: Mapping[str, Any]) -> str | None:
    """Finds the setting from which a place of the configuration takes its value; None for an unknown place."""
    keys: list[str] = []
    for key in place.split("."):
        keys.append(key)
        while reference := REFERENCE.fullmatch(str(_select(keys, unresolved))):
            keys = reference[1].split(".")
    return None if _select(keys, unresolved) == MISSING else ".".join(keys)


def _select(keys: Sequence[str], unresolved: Mapping[str, Any]) -> Any:
    """The value at a place of the configuration; MISSING if there is none."""
    node: Any = unresolved
    for key in keys:
        node = node.get(key, MISSING) if isinstance(node, Mapping) else MISSING
    return node


def name_settings(unresolved: Mapping[str, Any], value: str) -> list[str]:
    """Lists the settings whose value is this model, without settings that refer to another setting."""
    chosen = {name: node for name, node in unresolved.items() if name != "logger"}  # whose mode may be offline too
    return [place for place, leaf in leaves(chosen) if leaf == value]

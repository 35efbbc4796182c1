# The targets first set up .venv from the lock file. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run models cards tables test test-all check coverage mutants lock audit oldest newest bench gpu rehearse setup clean docs
setup: .venv/ready
PIP := $(BIN)/python -m pip install --quiet --no-compile

# What running needs: requirements.lock down to its part Development. torch comes first, because pip would take only files
# whose hash an index lists, so never a build in a folder of yours (PIP_FIND_LINKS). The lock holds no CUDA libraries, so
# that it serves each build: `install torch` adds those of the build, in the versions that its metadata pin.
TORCH_RELEASE := $(shell grep -o '^torch==[^ ]*' requirements.lock)
.venv/running: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	sed '/^# Running/,$$d' requirements.lock > .venv/torch.lock
	sed '/^# Development/,$$d' requirements.lock > .venv/running.lock
	$(BIN)/python -m pip download --quiet --no-deps --dest .venv/torch $(TORCH_RELEASE)
	$(PIP) --no-deps --require-hashes --no-index --find-links .venv/torch -r .venv/torch.lock
	$(PIP) --no-deps --require-hashes -r .venv/running.lock
	$(PIP) torch
	$(PIP) --no-deps -e .
	rm -r .venv/torch
	touch $@

# Everything: also what tests, checks, docs, the demo and clusters need.
.venv/ready: .venv/running
	$(PIP) --no-deps --require-hashes -r requirements.lock
	touch $@

run: .venv/running
	$(BIN)/python experiments/run.py +exp=cdm_dialogue

models: .venv/running
	$(BIN)/python experiments/run.py +exp=models

# What fools each metric on built-in text: three reports. CARDS=FOLDER chooses another folder.
CARDS ?= outputs/cards
TINY := outputs/tiny/models
cards: models
	$(BIN)/judge audit --data builtin_stories --texts 120 --report $(CARDS)/stories --metrics \
	  bleu rouge_1 rouge_2 rouge_l meteor chrf ter word_count bertscore mover_score sentence_mover \
	  perplexity perplexity_seq2seq mars \
	  --metrics.perplexity.model $(TINY)/generator --metrics.perplexity_seq2seq.model $(TINY)/infiller \
	  --metrics.mars.language_model $(TINY)/language_model
	$(BIN)/judge audit --data builtin_remarks --texts 120 --report $(CARDS)/remarks --metrics ctrleval discriminator \
	  --metrics.ctrleval.model $(TINY)/infiller --metrics.ctrleval.iwf $(TINY)/iwf/iwf.json \
	  --metrics.discriminator.folder $(TINY)/judge_positive
	$(BIN)/judge audit --data builtin_dialogues --texts 120 --report $(CARDS)/dialogues --metrics \
	  cdm_generative cdm_discriminative --metrics.cdm_discriminative.models $(TINY) \
	  --metrics.cdm_generative.folder $(TINY)/discriminator_bert

# The figures of the pages from docs/results; SETS is the folder of public sets.
SETS ?= sets
tables: setup
	$(BIN)/python docs/results/tables.py $(SETS)

docs: setup
	PYTHONPATH=. $(BIN)/python -m mkdocs build --strict --quiet

test: setup # two processes, each with one thread
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

rehearse: setup # every command with the paper's models, on a CPU with a stand-in for the hub
	$(BIN)/python -m pytest -q -m slow -rP tests/rehearsal

test-all: setup
	$(BIN)/python -m pytest -m "not network"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/vulture

coverage: setup # branches that the tests run, by file
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report --skip-covered --skip-empty

mutants: setup # changes of the equations that no test notices; mutmut works in the folder mutants/
	$(BIN)/python -m pip install --quiet mutmut
	$(BIN)/mutmut run
	$(BIN)/mutmut results

PINS := grep -oE '^[^ ]+==[^ ]+'
LOCK := $(BIN)/uv pip compile --quiet --no-deps --generate-hashes --no-header --no-annotate --python-version 3.11.7 -
lock: setup # the hashes of both parts anew, after a version has changed in requirements.lock
	$(BIN)/python -m pip install --quiet uv
	sed '/^# Running/q' requirements.lock > new.lock
	sed '1,/^# Running/d; /^# Development/,$$d' requirements.lock | $(PINS) | $(LOCK) >> new.lock
	grep '^# Development' requirements.lock >> new.lock
	sed '1,/^# Development/d' requirements.lock | $(PINS) | $(LOCK) >> new.lock
	mv new.lock requirements.lock

audit: setup # known faults of the locked releases
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --disable-pip --no-deps -r requirements.lock

# The tests with the lowest versions that pyproject.toml allows, and with the newest. TORCH=torch==2.13.0 keeps torch.
TORCH ?=
EXTRAS := papers,offline,excel,amr,peft,launchers,demo,dev
oldest: RESOLUTION := lowest-direct
oldest: WARNINGS := -o filterwarnings=default # old releases warn of what newer ones, beside them, leave out
newest: RESOLUTION := highest
oldest newest:
	$(PYTHON) -m venv .venv-$@
	.venv-$@/bin/python -m pip install --quiet uv
	.venv-$@/bin/uv pip install --quiet --python .venv-$@/bin/python --resolution $(RESOLUTION) $(TORCH) -e ".[$(EXTRAS)]"
	.venv-$@/bin/python -m pytest $(WARNINGS)

bench: setup
	for c in ctrl_eval mars; do $(BIN)/python -m benchmarks.bench $$c || exit 1; done

gpu: setup
	$(BIN)/python -m benchmarks.gpu

clean:
	rm -rf .venv .venv-oldest .venv-newest outputs build *.egg-info

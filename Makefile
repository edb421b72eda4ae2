# The main commands are `make grade` and `make test`. The first target that runs creates .venv.
#
#   make grade SUBMISSIONS=folder   grade these submissions instead of the sample class
#   make grade TORCH_INDEX=url      install torch from this index, such as https://pypi.org/simple for CUDA
#   make grade OPTIONS="--jobs 8"   options of `python -m grader grade`
#   make bench LONG=1               also grade a class of 1,000 notebooks

PYTHON ?= python3
TORCH_INDEX ?=
SUBMISSIONS ?= submissions
OUT ?= results
OPTIONS ?=
LONG ?=

CPU_INDEX := https://download.pytorch.org/whl/cpu
BIN := .venv/bin
READY := .venv/.ready

.PHONY: grade test test-all doctor build bench attack lint
.DELETE_ON_ERROR:

grade: $(READY)
	@$(BIN)/python -m grader grade "$(SUBMISSIONS)" --out "$(OUT)" $(OPTIONS)

# The tests of a file run in one process, because they share fixtures; slow files start first (tests/conftest.py).
test: $(READY)
	$(BIN)/python -m pytest -m "not long" -n auto --dist loadfile --no-loadscope-reorder

# In a single process: long tests use all cores themselves, or measure times.
test-all: $(READY)
	$(BIN)/python -m pytest

doctor: $(READY)
	@$(BIN)/python -m grader doctor $(OPTIONS)

build: $(READY)
	@$(BIN)/python -m grader build
	@$(BIN)/python docs/words.py
	@$(BIN)/python docs/claims.py
	@$(BIN)/python docs/formats.py

bench: $(READY)
	@$(BIN)/python benchmarks/run.py $(if $(LONG),--long)

attack: $(READY)
	$(BIN)/python -m pytest tests/sandbox/test_attacks.py
	@$(BIN)/python tests/attack_matrix.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
HAS_GPU := nvidia-smi -L > /dev/null 2>&1 || test -e /dev/nvidia0

# torch is installed separately, so that TORCH_INDEX applies only to torch. Without TORCH_INDEX and without a GPU, PyTorch's
# index of CPU builds is tried once, with a short timeout, because the default build includes gigabytes of CUDA.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv (some minutes, once) ..."
	@$(PYTHON) -m venv .venv
ifneq ($(TORCH_INDEX),)
	@echo "PyTorch comes from $(TORCH_INDEX)."
	@$(PIP) --no-deps --index-url "$(TORCH_INDEX)" torch
else
	@if $(HAS_GPU); then \
		echo "There is an NVIDIA GPU, so PyTorch's default build is taken."; $(PIP) torch; \
	elif $(PIP) --no-deps --retries 1 --timeout 10 --index-url $(CPU_INDEX) torch 2> /dev/null; then \
		echo "There is no NVIDIA GPU, so PyTorch's CPU build was taken."; \
	else \
		echo "PyTorch's CPU build could not be fetched from $(CPU_INDEX), so PyTorch's default build is taken, which is several GB larger."; \
		$(PIP) torch; \
	fi
endif
	@$(PIP) -e ".[cluster,dev,instructor,notebooks,otter,release]"
	@touch $@

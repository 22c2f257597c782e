# indextable: built with PGXS.
#
#   make, make install, make installcheck    as for every extension (PG_CONFIG=… picks the server)
#   make demo, make test, make bench         complete on a bare Debian machine: see test/run/
#   make jsonbench                           ClickHouse's JSONBench, on index tables and without: see test/jsonbench/
#   make example                             a fact table over three servers, shown the same way
#   make examples                            runs what is in examples/, with the drivers and extensions that it is for
#   make clients                             what client libraries send for conditions on JSON, and whether index tables serve it: see test/clients/
#   make majors                              make test on every PostgreSQL that Debian has, and upgrades between them
#   make assert                              make test on servers built with assertions, and under valgrind: see test/run/assert
#   make soak                                sessions of every kind at once, for a minute (DURATION=60): see test/soak/
#   make dist                                the archive for PGXN, of what is committed
#   make indent                              formats src/ as pgindent does (test/run/indent --check: tells whether it is)
#   make WERROR=-Werror                      warnings are errors, as in make test

EXTENSION  = indextable
MODULE_big = indextable
DATA       = $(sort $(wildcard sql/*--*.sql))
OBJS       = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

# The server's own headers have unused parameters. Hidden is what is not marked PGDLLEXPORT: see test/run/exports.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden $(WERROR)

# Changes are taken from other servers over connections of libpq, which every server has for its own walreceiver.
PG_CPPFLAGS = -I$(libpq_srcdir)
SHLIB_LINK  = $(libpq)

# A suite is added by adding a file.
REGRESS        = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS   = --inputdir=test --outputdir=test/output/regress --load-extension=$(EXTENSION)
ISOLATION      = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=test/output/isolation --load-extension=$(EXTENSION)
REGRESS_PREP   = test-output

# No worker keeps asynchronous index tables in step where the library is not preloaded, as create() says.
installcheck: export PGOPTIONS += -c indextable.advice=off
EXTRA_CLEAN    = test/output

# Bitcode is for functions that JIT compilation puts into expressions, of which there are none here; packages have it because
# others expect it (with_llvm=yes in the environment). It needs the very clang that the server was built with.
override with_llvm := $(if $(filter environment,$(origin with_llvm)),$(with_llvm),no)

PG_CONFIG ?= pg_config

# These install what they need, so they must work before there is a pg_config.
RUN = demo example examples clients test bench jsonbench majors assert soak indent dist
ifneq ($(filter-out $(RUN),$(or $(MAKECMDGOALS),all)),)
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error $(PG_CONFIG) does not work: install the server's development files (Debian: postgresql-server-dev-NN) or set PG_CONFIG)
endif
include $(PGXS)
endif

$(OBJS): $(sort $(wildcard src/*.h src/*/*.h))

test-output:
	@mkdir -p test/output/regress test/output/isolation

demo bench jsonbench examples clients:
	@test/run/script $@

example:
	@test/demo/shards.sh
	@test/demo/index-node.sh

test:
	@test/run/test

majors:
	@test/run/majors

soak:
	@test/soak/soak

assert:
	@test/run/assert

indent:
	@test/run/indent

dist: name = indextable-$(shell sed -n 's/^   "version": *"\(.*\)",/\1/p' META.json)
dist:
	git archive --format=zip --prefix=$(name)/ --output=$(name).zip HEAD

.PHONY: test-output $(RUN)

# Entry points; CMake does the work. See README.md.
BUILD ?= build
PREFIX ?= /usr/local
PROG ?= $(BUILD)/samples/sample

all: configured
	@ninja -C $(BUILD)

configured:
	@scripts/configure $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

run: packages-run all
	@echo "hotpath run -- $(PROG)"
	@$(BUILD)/hotpath run -- $(PROG)

test: packages-test configured
	@cmake -S . -B $(BUILD) -G Ninja -DHP_TESTS=ON >/dev/null
	@ninja -C $(BUILD) all tests/all
	@tests/run $(BUILD) -j $$(nproc)

bench: packages-bench all
	@bench/run $(BUILD)

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

dist: all
	@scripts/dist $(BUILD)

deb: packages-deb all
	@scripts/deb $(BUILD)

clean:
	rm -rf $(BUILD)

packages-%:
	@scripts/packages $*

.PHONY: all configured run test bench install dist deb clean

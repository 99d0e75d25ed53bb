# Entry points; CMake does the work. See README.md.
BUILD ?= build
PREFIX ?= /usr/local
PROG ?= $(BUILD)/samples/sample

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja: CMakeLists.txt
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX)

run: packages-run all
	@echo "hotpath run -- $(PROG)"
	@$(BUILD)/hotpath run -- $(PROG)

test: packages-test
	@cmake -S . -B $(BUILD) -G Ninja -DHP_TESTS=ON >/dev/null
	@ninja -C $(BUILD)
	@tests/run $(BUILD) -j $$(nproc)

bench: packages-bench all
	@bench/run $(BUILD)

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf $(BUILD)

packages-%:
	@scripts/packages $*

.PHONY: all run test bench install clean

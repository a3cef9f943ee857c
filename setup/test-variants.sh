# The variants of `assay test`: suites, repeated under other conditions. For each NAME
#
#   lacks_NAME    prints why this machine does not support it, or nothing. Without support, `full` fails
#   prepare_NAME  is called during set-up
#   use_NAME      sets the variables that differ, in a shell for this variant alone (use_machine sets all of them)
#
# To add a variant, add these three functions and its name in $variants.

variants='uml qemu sanitized cold postgres'
# The variant of which the plain `assay test` runs a part, alongside the tests that share the machine.
beside=uml

engine_suites='test/system/matrix/ test/system/forgery/ test/system/attacks/ test/system/falsify/'

# This machine, unchanged.
use_machine() {
  about="this machine"
  suites=test/
  # The program that boots another kernel, called like test/system/kernel/uml, and the machine that it boots; empty for none.
  kernel='' machine=''
  # The parts of the suites that take longer than the tests alongside them.
  left_out=
  # Whether it uses only one CPU, so that it can run alongside another variant.
  one_cpu=no
  # A factor for all timeouts, and the seconds after which a kernel counts as hanging.
  patience=1 seconds=3600
}

lacks_uml() { [ "$(uname -m)" = x86_64 ] || echo "Debian has user-mode Linux only for x86-64"; }
prepare_uml() { find_uml; }
use_uml() {
  about="only cgroup v2, in user-mode Linux"
  suites=$engine_suites
  kernel=test/system/kernel/uml machine=${uml-}
  # Each page of memory costs it a signal, and it charges the time of other processes to its own programs.
  one_cpu=yes patience=8 seconds=7200
  # Compiled to machine code, with a managed heap, interpreted: the kernel counts all others in the same way.
  ASSAY_TEST_MATRIX='c java python'
  if [ "$test_mode" = plain ]; then
    seconds=1800
    # Counters and verdicts depend on the cgroup version; signals, rlimits, and the filter and the mounts of the attacks do not.
    suites='test/system/forgery/counters test/system/matrix/'
    ASSAY_TEST_MATRIX=python
    # Starting runtimes that then wait takes it minutes.
    ASSAY_TEST_COLD=yes
    # Its slow clock makes each of them take 8 to 80 s; test/system/forgery/ has similar programs.
    ASSAY_TEST_MATRIX_WITHOUT='busy busy-threads busy-children sleeps eats-managed-heap eats-files-and-memory'
    left_out="test/system/attacks/, test/system/falsify/, test/system/forgery/ except for counters, and in test/system/matrix/ all languages except $ASSAY_TEST_MATRIX and the programs $ASSAY_TEST_MATRIX_WITHOUT"
  fi
  ASSAY_TEST_PROCESS_BYTES=$(($(cat /proc/sys/vm/max_map_count) * 4096))
}

lacks_qemu() { [ "$(uname -m)" = x86_64 ] || echo "the emulated machine needs x86-64"; }
prepare_qemu() { find_qemu; }
use_qemu() {
  about="only cgroup v2 with BPF and PSI, in an emulated machine"
  suites=$engine_suites
  kernel=test/system/kernel/qemu machine=${qemu-}
  one_cpu=yes patience=12 seconds=7200
  ASSAY_TEST_MATRIX='c python'
}

lacks_sanitized() { :; }
prepare_sanitized() { :; }
use_sanitized() {
  about="the launcher with sanitizers"
  suites=$engine_suites
  ASSAY_TEST_LAUNCHER=${launcher_asan-}
}

lacks_cold() { :; }
prepare_cold() { :; }
use_cold() {
  about="without runtimes that wait for submissions"
  suites=$engine_suites
  ASSAY_TEST_COLD=yes
}

lacks_postgres() { :; }
prepare_postgres() { :; }
use_postgres() {
  about="the pages of the dashboard on PostgreSQL"
  suites=test/system/dashboard/
  ASSAY_TEST_DATABASE=postgres
}

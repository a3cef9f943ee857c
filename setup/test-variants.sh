# The variants of `assay test`: the suites that prove the engine, once more where something is another. For each NAME
#
#   lacks_NAME    says why this machine cannot have it; nothing, if it can. Where it can't, `full` fails
#   prepare_NAME  is called during set-up
#   use_NAME      sets what is another there, in the shell that is for this variant alone (use_machine has all of it)
#
# To add one: these three, and its name in $variants.

variants='uml qemu sanitized'
# The one of which the plain `assay test` has a part, beside the tests of the machine itself.
beside=uml

engine_suites='test/matrix/ test/forgery/ test/attacks/ test/falsify/'

# The machine as it is.
use_machine() {
  about="this machine"
  suites=test/
  # What boots another kernel, with the command line of test/kernel/uml, and what it is given to boot; not at all when empty.
  kernel='' machine=''
  # What of the suites does not fit into the time of the tests that it runs beside.
  left_out=
  # How many times longer everything may take, and after how many seconds a kernel hangs.
  patience=1 seconds=3600
}

lacks_uml() { [ "$(uname -m)" = x86_64 ] || echo "Debian has user-mode Linux for x86-64 alone"; }
prepare_uml() { find_uml; }
use_uml() {
  about="cgroup v2 alone, in user-mode Linux"
  suites=$engine_suites
  kernel=test/kernel/uml machine=${uml-}
  # Each page of memory costs it a signal; and beside others, their time is to it its programs' own.
  patience=8 seconds=7200
  if [ "$test_mode" = plain ]; then
    seconds=1800
    suites='test/forgery/ test/attacks/ test/matrix/'
    ASSAY_TEST_MATRIX='c python'
    left_out="test/falsify/, and in test/matrix/ all languages but $ASSAY_TEST_MATRIX"
  fi
  ASSAY_TEST_PROCESS_BYTES=$(($(cat /proc/sys/vm/max_map_count) * 4096))
}

lacks_qemu() { [ "$(uname -m)" = x86_64 ] || echo "the emulated machine is an x86-64 one"; }
prepare_qemu() { find_qemu; }
use_qemu() {
  about="cgroup v2 alone with BPF and PSI, in an emulated machine"
  suites=$engine_suites
  kernel=test/kernel/qemu machine=${qemu-}
  patience=8 seconds=7200
  ASSAY_TEST_MATRIX='c python'
}

lacks_sanitized() { :; }
prepare_sanitized() { :; }
use_sanitized() {
  about="the launcher with sanitizers"
  suites=$engine_suites
  ASSAY_TEST_LAUNCHER=${launcher_asan-}
}

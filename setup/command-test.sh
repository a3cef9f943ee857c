# assay test [full | on VARIANT] [WORD]: sets up what the tests need, and runs test/run.ts, which chooses the tests.

for part in unpack postgres arm64 promtool uml qemu; do . "$checkout/setup/test-tools/$part.sh"; done

! is_release || fail "a release has no test tools: use assay doctor, or assay test in a checkout"
test_mode=plain # for the packages of set-up
[ "${1-}" != full ] || test_mode=full

prepare_sandbox
build_dashboard
build_launcher --sanitize
build_launcher --faults
cd "$app" || exit
needs=$(clean_env exec ASSAY_TEST_LONG "$node" test/run.ts needs "$@") || exit
find_postgres
find_arm64
find_promtool
uml= qemu= test_packs= packs_image=
for need in $needs; do
  case $need in
  uml) find_uml ;;
  qemu) find_qemu ;;
  packs=*)
    test_packs=$(packs_ts names "${need#packs=}")
    image_alone=$image
    add_packs "$test_packs"
    packs_image=$image image=$image_alone
    ;;
  esac
done
ASSAY_TEST_UML=
if [ $test_mode = full ] || [ "${ASSAY_TEST_LONG-}" = yes ]; then
  if [ "$(uname -m)" = x86_64 ]; then
    find_uml
    ASSAY_TEST_UML=$uml
  fi
fi
prepared test
take_uid_range
scratch=$instance_dir/data
mkdir -m 0755 "$scratch" "$instance_dir/cache" "$instance_dir/databases"
mkdir -m 1777 "$instance_dir/tmp"
chmod 0755 "$instance_dir"
# The databases are in memory, because tests create hundreds of them with 300 files each, for which ext4 takes 5 % of the CPU time
# of a run. They are not in a tmpfs, because tests measure the memory of tmpfs.
mount -t ramfs -o mode=0755 assay-test "$instance_dir/databases" || fail "cannot mount a ramfs for the databases of the tests"
trap 'umount -l "$instance_dir/databases" || true; leave' EXIT

ASSAY_DATA=$data
ASSAY_TEST_DIRECTORY=$instance_dir
ASSAY_TEST_INSTANCE=$instance
ASSAY_TEST_LAUNCHER=$launcher
ASSAY_TEST_LAUNCHER_ASAN=$launcher_asan
ASSAY_TEST_LAUNCHER_FAULTS=$launcher_faults
ASSAY_TEST_IMAGE=$image
ASSAY_TEST_PACKS=$test_packs
ASSAY_TEST_PACKS_IMAGE=$packs_image
ASSAY_TEST_DASHBOARD=$dashboard
ASSAY_TEST_DATA=$scratch
ASSAY_TEST_DATABASES=$instance_dir/databases
ASSAY_TEST_UID_BASE=$uid_base
ASSAY_TEST_POSTGRES=$postgres
ASSAY_TEST_ARM64=$arm64
ASSAY_TEST_PROMTOOL=$promtool
ASSAY_TEST_KERNEL_UML=$uml
ASSAY_TEST_KERNEL_QEMU=$qemu
ASSAY_TEST_TIMES=$instance_dir/times
: >"$ASSAY_TEST_TIMES"
unset ASSAY_TEST_PROCESS_BYTES ASSAY_TEST_MATRIX ASSAY_TEST_COLD ASSAY_TEST_PATIENCE
test_names="TERM NO_COLOR CI ASSAY_DATA $(set | sed -n 's/^\(ASSAY_TEST_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')"

# Temporary files and the compile cache of Node are in the directory of this run, because the set-up of another command removes those in
# the data directory. The cache saves a tenth of the time of hundreds of processes. Only root may write to it.
run_tests() {
  find_own_pid
  pass_signals_on
  start_supervisor "$test_names" PATH="$(dirname "$node"):$PATH" TMPDIR="$instance_dir/tmp" NODE_COMPILE_CACHE="$instance_dir/cache" \
    "$supervisor" --parent "$own_pid" --process tests --run all "$node" test/run.ts "$@"
  await_processes
  trap '' INT TERM HUP
}
exec 3</dev/null
run_tests "$@"
exit "$processes_status"

# Disks of sandboxes (launcher/disks.h). The launcher copies a template for each disk, so that it need not format one.

# Part of the names, so that other options make other templates; launcher/disks.c says the same. The sizes are DISK_SIZES, and the bytes for each inode
# DISK_INODE_BYTES, in src/domain/sandboxes/sandbox.ts.
disk_template=1
disk_sizes='1 2 4 8 16'
disk_inode_bytes=16384

# make_disk_templates DIRECTORY BYTES: makes the templates for disks of up to BYTES in DIRECTORY, which only root may read: empty file systems of ext4 in
# sparse files, of less than a MiB each.
#
# - A disk ends with its sandbox, so it has no journal. The features are those that every kernel since 4.4 knows, whatever the version of mke2fs.
# - No dir_index: with it, each descriptor of a directory keeps a tree of all names in it, in memory that is charged to nobody.
# - The UUID is the same on all machines, because programs can see it on kernels before 6.6, and could tell by it that they are on the same machine.
# - The last 2 MiB of the file are not of the file system: programs that look for signatures at the end of a device, such as that of a RAID, must not find what a
#   sandbox has written.
make_disk_templates() {
  mkdir -p -m 0700 -- "$1"
  for gib in $disk_sizes; do
    bytes=$((gib * 1073741824))
    [ "$bytes" -le "$2" ] || break
    template=$1/$bytes-$disk_template.ext4
    [ ! -e "$template" ] || continue
    command -v mke2fs >/dev/null || fail "disks of sandboxes need mke2fs: install the package e2fsprogs, or set ASSAY_SANDBOX_DISK to 0"
    new=$template.tmp.$$
    rm -f -- "$1"/*.tmp.*
    : >"$new"
    mke2fs -q -t ext4 -b 4096 -N $((bytes / disk_inode_bytes)) -m 0 -U 00000000-0000-4000-8000-000000000001 \
      -O none,extent,filetype,sparse_super,large_file,huge_file,flex_bg,uninit_bg,extra_isize,64bit \
      -E lazy_itable_init=1,nodiscard,root_owner=0:0 "$new" $((bytes / 1024 - 2048))k >/dev/null ||
      fail "mke2fs could not make a template for disks"
    truncate -s "$bytes" -- "$new"
    sync -- "$new" # a template that a power cut has emptied would never be made again
    mv -- "$new" "$template"
  done
}

/*
 * The root directory of a sandbox (root.h). The init of the box calls this (box/init.c), before it installs its filter.
 *
 *   /              an overlay: the image, below a layer of fixed files (accounts, configuration), below a file system that programs write to, which
 *                  is a tmpfs or a disk (disks.h)
 *   /dev           harmless devices, terminals of this sandbox alone, and /dev/shm
 *   /proc          processes of the sandbox, and files with the sandbox's own numbers in place of those of the machine
 *
 * The overlay's inodes belong to the sandbox, so locks and watches on them reach no other tenant, and what programs write is limited by
 * the size of the tmpfs, and charged to their groups, or by that of the disk.
 *
 * No directory that the user can write is merged from two layers. To list a merged directory, the kernel builds a list of all names in it, in
 * memory that is charged to no group; and it builds another one for each descriptor that is opened after the directory has changed. Hence
 * directories of the user are opaque, and `/`, which an overlay always lists in this way, belongs to root.
 */
#define _GNU_SOURCE
#include "sandbox/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image-root.h"
#include "loopback.h"
#include "sandbox/proc_files.h"
#include "seccomp.h"

/* The file system of the sandbox's own files, and the tmpfs of the fixed files, until the root is the sandbox's. */
#define CHANGES "/tmp"
#define FIXED "/dev/shm"
#define LAYER FIXED "/layer"
#define FACTS FIXED "/proc"
#define WRITTEN FIXED "/written"
#define HIDDEN_FILE FACTS "/.hidden-file"
#define HIDDEN_DIRECTORY FACTS "/.hidden"
#define PROC_FLAGS ((unsigned long)(MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY))

enum { COPY_BYTES = 512 * 1024, READ_BYTES = 4096, PROC_ENTRIES_MAX = 256, SHM_BYTES = 64 << 20, FROM_EMPTY_PATH = 4 };

/* ---- files ---- */

/* Makes the directory part of the path below `base`, unless an earlier file has the same. */
static int make_parents(const char *path, size_t base)
{
	static char last[256];
	size_t length = (size_t)(strrchr(path, '/') - path);
	if (length < sizeof last && !strncmp(path, last, length) && !last[length])
		return 0;
	char part[256];
	for (const char *p = strchr(path + base + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	snprintf(last, sizeof last, "%.*s", (int)length, path);
	return 0;
}

/* Nobody else can see the file yet, so it may have its mode at once. */
static int write_whole(const char *path, const char *data, size_t size, mode_t mode, struct failure *f)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	bool done = fd >= 0 && (!size || write(fd, data, size) == (ssize_t)size);
	int err = errno;
	if (fd >= 0)
		close(fd);
	return done ? 0 : fail_with(f, err, "sandbox", "%s", path);
}

/* Makes a file below `base` with a text as printf() makes it, which may have 4,095 bytes. */
static int make_file(const char *base, const char *name, mode_t mode, struct failure *f, const char *format, ...) __attribute__((format(printf, 5, 6)));
static int make_file(const char *base, const char *name, mode_t mode, struct failure *f, const char *format, ...)
{
	char path[256], text[4096];
	va_list arguments;
	snprintf(path, sizeof path, "%s/%s", base, name);
	va_start(arguments, format);
	int size = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (size < 0 || size >= (int)sizeof text)
		return fail_with(f, E2BIG, "sandbox", "%s", path);
	if (make_parents(path, strlen(base)) < 0)
		return fail(f, "sandbox", "%s", path);
	return write_whole(path, text, (size_t)size, mode, f);
}

/* ---- the layer of fixed files ---- */

static int make_layer(const struct sandbox_root *root, struct failure *f)
{
	unsigned uid = root->uid;
	if (mkdir(LAYER, 0755) < 0)
		return fail(f, "sandbox", LAYER);
	if (make_file(LAYER, "etc/passwd", 0644, f,
		      "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:%u:%u::/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		      uid, uid) < 0 ||
	    make_file(LAYER, "etc/group", 0644, f, "root:x:0:\nuser:x:%u:\nnogroup:x:65534:\n", uid) < 0 ||
	    make_file(LAYER, "etc/hostname", 0644, f, "assay\n") < 0 ||
	    make_file(LAYER, "etc/hosts", 0644, f, "127.0.0.1 localhost assay\n::1 localhost\n") < 0 ||
	    /* Programs of a user install into the home directory: /usr belongs to root. */
	    make_file(LAYER, "etc/pip.conf", 0644, f, "[install]\nuser = true\nbreak-system-packages = true\n") < 0)
		return -1;
	/*
	 * Each address is one of the relay's (egress/network.h); this one is in no other use. Without `single-request`, the C library asks for both versions of addresses
	 * by one sendmmsg, which the filter does not permit.
	 */
	if (root->network && make_file(LAYER, "etc/resolv.conf", 0644, f, "nameserver 198.18.0.53\noptions single-request timeout:2 attempts:2\n") < 0)
		return -1;
	/* A white-out: submissions have /box, sandboxes have not. */
	if (mknod(LAYER "/box", S_IFCHR, makedev(0, 0)) < 0)
		return fail(f, "sandbox", LAYER "/box");
	/* Scripts and agents call sudo out of habit. There is one user, so it runs the command as that. */
	if (make_file(LAYER, "usr/local/bin/sudo", 0755, f,
		      "#!/bin/sh\n# Runs the command as the same user: a sandbox has no other.\nuser=\n"
		      "while [ $# -gt 0 ]; do\n  case $1 in\n  --) shift; break ;;\n  -u | -g | -h | -p | -U | -C | -T) shift 2 || exit 1 ;;\n"
		      "  -*) shift ;;\n  *=*) export \"$1\"; shift ;;\n  *) break ;;\n  esac\ndone\n[ $# -gt 0 ] || exit 0\nexec \"$@\"\n") < 0)
		return -1;
	/* The image has these outside PATH: plans of languages name Node by its path, and submissions have no npm. */
	static const struct { const char *to, *path; } commands[] = {
		{"/opt/assay/node/node", LAYER "/usr/local/bin/node"},
		{"/opt/assay/npm/bin/npm-cli.js", LAYER "/usr/local/bin/npm"},
		{"/opt/assay/npm/bin/npx-cli.js", LAYER "/usr/local/bin/npx"},
	};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (access(commands[i].to, X_OK) == 0 && symlink(commands[i].to, commands[i].path) < 0)
			return fail(f, "sandbox", "%s", commands[i].path);
	return 0;
}

/*
 * The image may have files below /usr/local, which the layer's directories only add to, because an overlay merges directories. A directory
 * that is opaque is not merged.
 */
static int make_changes(const struct sandbox_root *root, struct failure *f)
{
	char options[96];
	static const char *const opaque[] = {CHANGES "/upper/tmp", CHANGES "/upper/home"};
	static const char *const of_user[] = {CHANGES "/upper/home/user", CHANGES "/upper/home/user/.local", CHANGES "/upper/home/user/.local/bin"};
	snprintf(options, sizeof options, "mode=0755,size=%llu,nr_inodes=%llu", (unsigned long long)root->disk, (unsigned long long)root->inodes);
	int mounted = root->disk_mount < 0 ? mount("tmpfs", CHANGES, "tmpfs", MS_NOSUID | MS_NODEV, options)
					   : (int)syscall(__NR_move_mount, root->disk_mount, "", AT_FDCWD, CHANGES, FROM_EMPTY_PATH);
	if (mounted < 0)
		return fail(f, "mount", "files of the sandbox");
	if (mkdir(CHANGES "/work", 0700) < 0 || mkdir(CHANGES "/upper", 0755) < 0 ||
	    mkdir(CHANGES "/upper/home", 0755) < 0 || mkdir(CHANGES "/upper/tmp", 01777) < 0)
		return fail(f, "sandbox", "directories");
	for (size_t i = 0; i < sizeof opaque / sizeof *opaque; i++)
		if (setxattr(opaque[i], "trusted.overlay.opaque", "y", 1, 0) < 0)
			return fail(f, "sandbox", "mark %.20s as opaque", opaque[i] + strlen(CHANGES "/upper"));
	for (size_t i = 0; i < sizeof of_user / sizeof *of_user; i++)
		if (mkdir(of_user[i], 0755) < 0 || chown(of_user[i], root->uid, root->uid) < 0)
			return fail(f, "sandbox", "%s", of_user[i]);
	return 0;
}

/* ---- /proc ---- */

/* Entries of /proc that are of the namespaces of who reads them. All others are replaced or covered. */
static bool is_own(const char *name)
{
	static const char *const own[] = {"self", "thread-self", "mounts", "net"};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (!strcmp(name, own[i]))
			return true;
	return name[0] == '.' || name[strspn(name, "0123456789")] == 0;
}

/* Copies a file of the machine's /proc as it is now, or makes none if the machine has none and it is not `needed`. */
static int copy_fact(const char *from, const char *name, bool needed, struct failure *f)
{
	char path[256];
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && !needed)
		return 0;
	char *data = malloc(COPY_BYTES);
	size_t used = 0;
	ssize_t n = 0;
	/* For a file of /proc/sys, the kernel makes a buffer as large as the read, and clears it. */
	while (data && fd >= 0 && used < COPY_BYTES && (n = read(fd, data + used, READ_BYTES)) > 0)
		used += (size_t)n;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof path, FACTS "/%s", name);
	int done = !data || make_parents(path, strlen(FACTS)) < 0 ? fail(f, "sandbox", "%s", path) : write_whole(path, data, used, 0444, f);
	free(data);
	return done;
}

/* Makes the links to the files that the holder writes (proc_files.h), and has these at PROC_FILES_AT. */
static int make_links(const struct sandbox_root *root, struct failure *f)
{
	static const char *const names[] = PROC_FILES;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char at[64], to[64];
		snprintf(at, sizeof at, FACTS "/%s", names[i]);
		snprintf(to, sizeof to, PROC_FILES_AT "/%s", names[i]);
		if (symlink(to, at) < 0)
			return fail(f, "sandbox", "%s", at);
	}
	/* The holder writes through this mount, which ends with the old root; the sandbox has another one of the same files. */
	if (mkdir(WRITTEN, 0755) < 0 || mkdir(FACTS "/fs", 0755) < 0 || mkdir(FACTS "/fs/sandbox", 0755) < 0)
		return fail(f, "sandbox", WRITTEN);
	return syscall(__NR_move_mount, root->proc_mount, "", AT_FDCWD, WRITTEN, FROM_EMPTY_PATH) < 0 ? fail(f, "mount", WRITTEN) : 0;
}

static int make_sysctls(struct failure *f)
{
	/* The same on every machine, or readable by other means, such as uname() and the limits themselves. */
	static const char *const copied[] = {
		"kernel/osrelease", "kernel/ostype", "kernel/version", "kernel/pid_max", "kernel/cap_last_cap", "kernel/ngroups_max",
		"kernel/overflowuid", "kernel/overflowgid", "kernel/randomize_va_space", "vm/overcommit_memory", "vm/max_map_count",
		"fs/nr_open", "fs/file-max", "fs/pipe-max-size", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches",
		"fs/inotify/max_queued_events",
	};
	for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
		char from[64], name[64];
		snprintf(from, sizeof from, "proc/sys/%s", copied[i]);
		snprintf(name, sizeof name, "sys/%s", copied[i]);
		if (copy_fact(from, name, false, f) < 0)
			return -1;
	}
	unsigned char id[16];
	if (getrandom(id, sizeof id, 0) != sizeof id)
		return fail(f, "sandbox", "random number");
	if (make_file(FACTS, "sys/kernel/hostname", 0444, f, "assay\n") < 0 || make_file(FACTS, "sys/kernel/domainname", 0444, f, "\n") < 0 ||
	    make_file(FACTS, "sys/net/core/somaxconn", 0444, f, "%d\n", LOOPBACK_BACKLOG) < 0 || make_file(FACTS, "sys/crypto/fips_enabled", 0444, f, "0\n") < 0 ||
	    make_file(FACTS, "sys/vm/swappiness", 0444, f, "60\n") < 0)
		return -1;
	return make_file(FACTS, "sys/kernel/random/boot_id", 0444, f,
			 "%02x%02x%02x%02x-%02x%02x-4%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", id[0], id[1], id[2], id[3], id[4], id[5],
			 id[6] & 15, id[7], (id[8] & 0x3f) | 0x80, id[9], id[10], id[11], id[12], id[13], id[14], id[15]);
}

/* Makes the files that replace those of the machine, from its /proc, which is mounted at `proc` in the working directory. */
static int make_facts(const struct sandbox_root *root, struct failure *f)
{
	if (mkdir(FACTS, 0755) < 0 || mkdir(HIDDEN_DIRECTORY, 0) < 0 || make_file(FACTS, ".hidden-file", 0, f, "%s", "") < 0)
		return fail(f, "sandbox", FACTS);
	if (copy_fact("proc/cpuinfo", "cpuinfo", true, f) < 0 || copy_fact("proc/version", "version", true, f) < 0 || make_links(root, f) < 0 || make_sysctls(f) < 0)
		return -1;
	if (make_file(FACTS, "diskstats", 0444, f, "%s", "") < 0 ||
	    make_file(FACTS, "partitions", 0444, f, "%s", "") < 0 || make_file(FACTS, "vmstat", 0444, f, "nr_free_pages 0\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\n") < 0 ||
	    make_file(FACTS, "swaps", 0444, f, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n") < 0 ||
	    make_file(FACTS, "filesystems", 0444, f, "nodev\tproc\nnodev\ttmpfs\nnodev\tdevpts\nnodev\toverlay\n") < 0)
		return -1;
	return make_file(FACTS, "cgroups", 0444, f, "#subsys_name\thierarchy\tnum_cgroups\tenabled\n");
}

/* Mounts a file, directory or link at another one. Links are not followed. */
static int bind(const char *from, const char *at)
{
	enum { CLONED = 1 };
	int tree = (int)syscall(__NR_open_tree, AT_FDCWD, from, CLONED | AT_SYMLINK_NOFOLLOW | O_CLOEXEC);
	if (tree < 0)
		return -1;
	int done = (int)syscall(__NR_move_mount, tree, "", AT_FDCWD, at, FROM_EMPTY_PATH), err = errno;
	close(tree);
	errno = err;
	return done;
}

/* The entries of a directory that are not those of the namespaces of who reads it. */
struct entries {
	int count;
	struct entry { char name[64]; unsigned char type; /* DT_REG and the like */ } entry[PROC_ENTRIES_MAX];
};

static int list_entries(const char *path, struct entries *list, struct failure *f)
{
	DIR *dir = opendir(path);
	if (!dir)
		return fail(f, "mount", "%s", path);
	list->count = 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (is_own(entry->d_name))
			continue;
		if (list->count == PROC_ENTRIES_MAX || strlen(entry->d_name) >= sizeof list->entry->name) {
			closedir(dir);
			return fail_with(f, E2BIG, "mount", "%s has too many entries", path);
		}
		struct entry *e = &list->entry[list->count++];
		snprintf(e->name, sizeof e->name, "%.63s", entry->d_name);
		e->type = entry->d_type;
	}
	closedir(dir);
	return 0;
}

static const struct entry *find_entry(const struct entries *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
		if (!strcmp(list->entry[i].name, name))
			return &list->entry[i];
	return NULL;
}

static bool is_link(const struct entry *e) { return e && e->type != DT_REG && e->type != DT_DIR; }

/* Replaces or covers the entries of /proc at `proc` in the working directory. */
static int cover_proc(struct failure *f)
{
	struct entries facts, all;
	if (list_entries(FACTS, &facts, f) < 0 || list_entries("proc", &all, f) < 0)
		return -1;
	for (int i = 0; i < all.count; i++) {
		char from[96], at[96];
		const struct entry *e = &all.entry[i], *fact = find_entry(&facts, e->name);
		snprintf(at, sizeof at, "proc/%.63s", e->name);
		if (fact)
			snprintf(from, sizeof from, FACTS "/%.63s", fact->name);
		else
			snprintf(from, sizeof from, "%s", e->type == DT_DIR ? HIDDEN_DIRECTORY : HIDDEN_FILE);
		/* mount() follows links, and takes a third of the calls. */
		int done = is_link(e) || is_link(fact) ? bind(from, at) : mount(from, at, NULL, MS_BIND, NULL);
		if (done < 0)
			return fail(f, "mount", "/proc/%s", e->name);
	}
	const char *at = &PROC_FILES_AT[1]; /* in the working directory */
	if (bind(WRITTEN, at) < 0 || mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | PROC_FLAGS, NULL) < 0)
		return fail(f, "mount", PROC_FILES_AT);
	return 0;
}

/* Whether programs have the files that the holder writes through a mount that they cannot write to. */
static bool has_read_only_files(int proc)
{
	struct statfs st;
	int directory = openat(proc, &PROC_FILES_AT[sizeof "/proc/" - 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool done = directory >= 0 && fstatfs(directory, &st) == 0 && (st.f_flags & ST_RDONLY);
	if (directory >= 0)
		close(directory);
	return done;
}

int sandbox_proc_uncovered(int proc)
{
	struct stat own, st;
	int copy = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir || fstat(copy, &own) < 0) {
		if (dir)
			closedir(dir);
		else if (copy >= 0)
			close(copy);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (!is_own(entry->d_name) && fstatat(copy, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == own.st_dev)
			count++;
	count += !has_read_only_files(copy);
	closedir(dir);
	return count;
}

/* Finds an entry of /proc that was covered by nothing to read, of the same type, so that it can be mounted at other places too. */
static bool find_cover(DIR *dir, dev_t proc, mode_t type, char at[96])
{
	struct stat st;
	rewinddir(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (!is_own(entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev != proc &&
		    (st.st_mode & S_IFMT) == type && (st.st_mode & 0777) == 0) {
			snprintf(at, 96, "/proc/%.63s", entry->d_name);
			return true;
		}
	return false;
}

/* Covers what sandbox_proc_uncovered() would count. `other` is another stream of the directory. */
static int cover(DIR *dir, DIR *other)
{
	struct stat own, st;
	int covered = 0;
	if (fstat(dirfd(dir), &own) < 0)
		return -1;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char at[96], from[96];
		if (is_own(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != own.st_dev)
			continue;
		snprintf(at, sizeof at, "/proc/%.63s", entry->d_name);
		if (!find_cover(other, own.st_dev, S_ISDIR(st.st_mode) ? S_IFDIR : S_IFREG, from)) {
			errno = ENOENT;
			return -1;
		}
		if (keyed(mount, from, at, NULL, (unsigned long)MS_BIND, NULL) < 0)
			return -1;
		covered++;
	}
	return covered;
}

int sandbox_proc_cover(void)
{
	DIR *dir = opendir("/proc"), *other = opendir("/proc");
	int done = dir && other ? cover(dir, other) : -1, err = errno;
	if (dir)
		closedir(dir);
	if (other)
		closedir(other);
	errno = err;
	return done;
}

/* ---- the root ---- */

static int mount_terminals(const struct sandbox_root *root, struct failure *f)
{
	char options[96];
	snprintf(options, sizeof options, "newinstance,ptmxmode=0666,mode=0620,uid=%u,gid=%u,max=%d", root->uid, root->uid, TERMINALS_MAX);
	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options) < 0)
		return fail(f, "mount", "/dev/pts");
	uint64_t shm = root->disk < SHM_BYTES ? root->disk : SHM_BYTES;
	snprintf(options, sizeof options, "mode=1777,size=%llu,nr_inodes=4096", (unsigned long long)shm);
	return mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0 ? fail(f, "mount", "/dev/shm") : 0;
}

int sandbox_root_enter(const struct sandbox_root *root, struct failure *f)
{
	umask(0);
	if (mount("tmpfs", FIXED, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=2m,nr_inodes=256") < 0)
		return fail(f, "mount", "fixed files of the sandbox");
	if (make_layer(root, f) < 0 || make_changes(root, f) < 0)
		return -1;
	if (mount("sandbox", "/box", "overlay", MS_NOSUID | MS_NODEV,
		  "lowerdir=" LAYER ":/,upperdir=" CHANGES "/upper,workdir=" CHANGES "/work,redirect_dir=off,index=off,metacopy=off") < 0)
		return fail(f, "mount", "root of the sandbox (the image must not be on an overlay)");
	if (chdir("/box") < 0)
		return fail(f, "chdir", "root of the sandbox");
	if (image_make_devices(true, f) < 0 || mount_terminals(root, f) < 0)
		return -1;
	if (mount("proc", "proc", "proc", PROC_FLAGS, "hidepid=invisible") < 0)
		return fail(f, "mount", "/proc");
	if (make_facts(root, f) < 0 || cover_proc(f) < 0)
		return -1;
	if (mount(NULL, FIXED, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return fail(f, "mount", "fixed files read-only");
	if (syscall(__NR_pivot_root, ".", ".") < 0)
		return fail(f, "pivot", "root of the sandbox");
	if (umount2(".", MNT_DETACH) < 0)
		return fail(f, "mount", "detach the image");
	return chdir("/") < 0 ? fail(f, "chdir", "/") : 0;
}

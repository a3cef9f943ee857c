// Intercepts fsync and fdatasync of a process under test, for the files of a database:
// DISK_DELAY_MS   delay added to each flush;
// DISK_FLUSHED    a directory with the worst state that a power cut could leave: each file is copied into it after a flush of
//                 that file, and removed files are deleted from it after a flush of their directory;
// DISK_BROKEN     each flush fails with EIO while a file of this name exists.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *name_of(int fd, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  const char *name = strrchr(path, '/');
  return name && strstr(name, ".sqlite") ? name + 1 : NULL;
}

static void copy_flushed(const char *name, int from, const char *directory) {
  char making[PATH_MAX], made[PATH_MAX], bytes[65536];
  snprintf(making, sizeof making, "%s/making", directory);
  snprintf(made, sizeof made, "%s/%s", directory, name);
  int to = open(making, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (to < 0) abort();
  // Reads through the existing descriptor: closing another descriptor of the file would release the process's locks on it.
  off_t at = 0;
  for (ssize_t length; (length = pread(from, bytes, sizeof bytes, at)) > 0; at += length)
    if (write(to, bytes, (size_t)length) != length) abort();
  close(to);
  if (rename(making, made)) abort();
}

static void forget_removed(const char *path, const char *directory) {
  DIR *there = opendir(directory);
  if (!there) abort();
  for (struct dirent *entry; (entry = readdir(there));) {
    char original[PATH_MAX], copy[PATH_MAX];
    snprintf(original, sizeof original, "%s/%s", path, entry->d_name);
    snprintf(copy, sizeof copy, "%s/%s", directory, entry->d_name);
    if (entry->d_name[0] != '.' && access(original, F_OK) != 0) unlink(copy);
  }
  closedir(there);
}

static int flush(int fd, const char *function) {
  char path[PATH_MAX] = "";
  const char *name = name_of(fd, path);
  if (name) {
    const char *delay = getenv("DISK_DELAY_MS"), *broken = getenv("DISK_BROKEN");
    if (delay) {
      long ms = atol(delay);
      nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    }
    if (broken && access(broken, F_OK) == 0) {
      errno = EIO;
      return -1;
    }
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
  int result = real(fd);
  const char *directory = getenv("DISK_FLUSHED");
  if (name && directory && result == 0) copy_flushed(name, fd, directory);
  size_t length = strlen(path);
  if (!name && directory && result == 0 && length > 3 && strcmp(path + length - 3, "/db") == 0)
    forget_removed(path, directory);
  return result;
}

int fsync(int fd) { return flush(fd, "fsync"); }
int fdatasync(int fd) { return flush(fd, "fdatasync"); }

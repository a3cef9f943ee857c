// A line for each random number, from each source: in the program, its threads, a child, and a grandchild.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

static void line(const char *who, const char *source, const void *number) {
  uint64_t value;
  memcpy(&value, number, sizeof value);
  printf("%s %s\t%016lx\n", who, source, value);
}

static void *show(void *who) {
  uint64_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  line(who, "getrandom", &value);
  if (getentropy(&value, sizeof value)) abort();
  line(who, "getentropy", &value);
  arc4random_buf(&value, sizeof value);
  line(who, "arc4random", &value);
  FILE *device = fopen("/dev/urandom", "r");
  if (!device || fread(&value, sizeof value, 1, device) != 1) abort();
  fclose(device);
  line(who, "device", &value);
  char name[] = "/tmp/nameXXXXXX";
  close(mkstemp(name));
  printf("%s temporary\t%s\n", who, name);
  fflush(stdout);
  return NULL;
}

static void beget(const char *who, const char *next) {
  pid_t pid = fork();
  if (pid == 0) {
    show((void *)who);
    if (next) beget(next, NULL);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}

int main(void) {
  show("program");
  line("kernel's", "bytes", (const void *)getauxval(AT_RANDOM));
  fflush(stdout);
  beget("child", "grandchild");
  beget("other child", NULL);
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, show, i ? "thread" : "other thread");
    pthread_join(thread, NULL);
  }
  show("program again");
  return 0;
}

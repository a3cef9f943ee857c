#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Sections and symbols whose meaning depends on the order in which the linker reads its files.
__attribute__((constructor)) static void before(void) { puts("before main"); }
__attribute__((destructor)) static void after(void) { puts("after main"); }

// Replaces the library's function, for the library as well.
char *strdup(const char *s) {
  puts("own strdup");
  char *copy = malloc(strlen(s) + 1);
  return strcpy(copy, s);
}

static _Thread_local int own = 7;

static void print_last(void) { printf("at exit %d\n", own); }

int main(int argc, char **argv) {
  char line[64];
  atexit(print_last);
  printf("%d %s %s %s\n", argc, argv[0], __FILE__, strdup("copy"));
  printf("%.3f %.3f\n", sin(atof("0.5")), pow(2, atof("0.5")));
  while (fgets(line, sizeof line, stdin)) fputs(line, stdout);
  errno = ERANGE;
  perror("perror");
  __int128 wide = (__int128)atoll("9223372036854775807") * atoll("3");
  printf("%lld\n", (long long)(wide / 1000000007));
  return 3;
}

/*
  * refuse ERRNO CALL COMMAND...: executes COMMAND with a filter that answers one system call with ERRNO, like a kernel that is too
  * old for it, was built without it, or denies it to containers.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
	{"bpf", __NR_bpf}, {"clone3", __NR_clone3}, {"close_range", __NR_close_range}, {"seccomp", __NR_seccomp},
	{"kexec_load", __NR_kexec_load},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 3 && i < sizeof calls / sizeof *calls; i++) {
		if (strcmp(argv[2], calls[i].name))
			continue;
		struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = {sizeof code / sizeof *code, code};
		/* prctl sets the filter: root may use it without no_new_privs, and seccomp may be the call to refuse. */
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
			execvp(argv[3], argv + 3);
		break;
	}
	perror("refuse");
	return 126;
}

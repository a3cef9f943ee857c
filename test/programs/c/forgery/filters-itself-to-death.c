/* Tries to install a filter by which the kernel would send it SIGSYS. Exit code 9: refused. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	struct sock_filter kill_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog filter = {1, kill_all};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 9;
	return getppid();
}

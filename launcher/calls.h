/*
 * Numbers of system calls that the C library's headers may lack, because a call is newer than the headers or was removed from them.
 * The running kernel may have these calls. Numbers from 424 on are the same on every architecture.
 */
#ifndef ASSAY_CALLS_H
#define ASSAY_CALLS_H

#include <sys/syscall.h>

/* OF(a, b) is the first value on x86-64, and the second on arm64. */
#if defined(__x86_64__)
#define OF(x86_64, aarch64) (x86_64)
#else
#define OF(x86_64, aarch64) (aarch64)
#endif

enum { NONE = -1 }; /* this architecture does not have the call */

#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_nfsservctl
#define __NR_nfsservctl OF(180, 42)
#endif
#ifndef __NR_lookup_dcookie
#define __NR_lookup_dcookie OF(212, 18)
#endif
#if defined(__aarch64__)
#define __NR_iopl NONE
#define __NR_ioperm NONE
#define __NR_modify_ldt NONE
#define __NR_ustat NONE
#define __NR_sysfs NONE
#define __NR_uselib NONE
#define __NR_open NONE
#define __NR_creat NONE
#define __NR_stat NONE
#define __NR_lstat NONE
#define __NR_access NONE
#define __NR_readlink NONE
#define __NR_mkdir NONE
#define __NR_rmdir NONE
#define __NR_unlink NONE
#define __NR_rename NONE
#define __NR_link NONE
#define __NR_symlink NONE
#define __NR_mknod NONE
#define __NR_chmod NONE
#define __NR_chown NONE
#define __NR_lchown NONE
#define __NR_utime NONE
#define __NR_utimes NONE
#define __NR_futimesat NONE
#define __NR_dup2 NONE
#define __NR_inotify_init NONE
#define __NR_fork NONE
#define __NR_vfork NONE
#define __NR_getpgrp NONE
#define __NR_arch_prctl NONE
#define __NR_pause NONE
#define __NR_time NONE
#define __NR_alarm NONE
#define __NR_pipe NONE
#define __NR_poll NONE
#define __NR_select NONE
#define __NR_epoll_create NONE
#define __NR_epoll_wait NONE
#endif
/* Only 32-bit x86 has these, and its entry is refused. */
#define __NR_vm86 NONE
#define __NR_vm86old NONE

#endif

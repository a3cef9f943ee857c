// Features of Go: raw system calls, unsafe, processes with credentials and namespaces. Prints a line for each attempt.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

func report(name string, err error) {
	var number syscall.Errno
	switch {
	case err == nil || errors.Is(err, syscall.Errno(0)):
		fmt.Println(name+":", "allowed")
	case errors.As(err, &number):
		names := map[syscall.Errno]string{1: "EPERM", 2: "ENOENT", 13: "EACCES", 30: "EROFS", 38: "ENOSYS", 97: "EAFNOSUPPORT"}
		fmt.Println(name+":", names[number])
	default:
		fmt.Println(name+":", "failed")
	}
}

func raw(number, a, b, c uintptr) error {
	_, _, failed := syscall.RawSyscall(number, a, b, c)
	if failed == 0 {
		return nil
	}
	return failed
}

func start(attributes *syscall.SysProcAttr) error {
	command := exec.Command("/bin/true")
	command.SysProcAttr = attributes
	return command.Run()
}

func main() {
	dot := []byte("/\x00")
	report("raw unshare", raw(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0))
	report("raw chroot", raw(syscall.SYS_CHROOT, uintptr(unsafe.Pointer(&dot[0])), 0, 0))
	report("raw ptrace", raw(syscall.SYS_PTRACE, syscall.PTRACE_ATTACH, 1, 0))
	report("raw netlink", raw(syscall.SYS_SOCKET, syscall.AF_NETLINK, syscall.SOCK_RAW, 0))
	report("become root", syscall.Setuid(0))
	report("child in a user namespace", start(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}))
	report("child in another root", start(&syscall.SysProcAttr{Chroot: "/box"}))
	report("child as root", start(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 0}}))
	report("traced child", start(&syscall.SysProcAttr{Ptrace: true}))
	report("new control group", start(&syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: 0}))
	_, err := net.Listen("tcp", "127.0.0.1:0")
	report("listen", err)
	_, err = net.InterfaceAddrs()
	report("addresses", err)
	_, err = net.LookupHost("example.com")
	if err != nil {
		err = errors.New("no answer")
	}
	report("names", err)
	_, err = os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	report("own memory by /proc", err)
}

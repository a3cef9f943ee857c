// Typical use of Go's library, which the system call filter must allow.
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func files() {
	place, err := os.MkdirTemp("", "typical")
	must(err)
	path := filepath.Join(place, "a")
	must(os.WriteFile(path, make([]byte, 100000), 0o600))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(err)
	_, err = file.WriteAt([]byte("x"), 10)
	must(err)
	_, err = file.ReadAt(make([]byte, 10), 0)
	must(err)
	must(file.Sync())
	must(file.Truncate(4096))
	must(file.Chmod(0o644))
	_, err = file.Seek(0, io.SeekStart)
	must(err)
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(err)
	mapped[0] = 1
	must(syscall.Munmap(mapped))
	other, err := os.Create(filepath.Join(place, "b"))
	must(err)
	_, err = io.Copy(other, file)
	must(err)
	packed := gzip.NewWriter(other)
	must(packed.Close())
	must(other.Close())
	must(os.Link(path, path+"-link"))
	must(os.Symlink(path, path+"-symbolic"))
	_, err = os.Readlink(path + "-symbolic")
	must(err)
	must(os.Rename(path+"-link", path+"-renamed"))
	must(os.Chtimes(path, time.Unix(1, 0), time.Unix(2, 0)))
	must(os.MkdirAll(filepath.Join(place, "x/y/z"), 0o755))
	must(filepath.WalkDir(place, func(string, os.DirEntry, error) error { return nil }))
	_, err = os.Stat(path)
	must(err)
	_, err = os.Getwd()
	must(err)
	root, err := os.OpenRoot(place)
	must(err)
	inside, err := root.Open("a")
	must(err)
	must(inside.Close())
	must(os.RemoveAll(place))
}

func goroutines() {
	var group sync.WaitGroup
	results := make(chan int, 100)
	for i := range 100 {
		group.Add(1)
		go func() {
			defer group.Done()
			time.Sleep(time.Millisecond)
			results <- i * i
		}()
	}
	group.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	select {
	case <-time.After(time.Millisecond):
	case <-time.NewTicker(time.Millisecond).C:
	}
	runtime.LockOSThread()
	runtime.Gosched()
	runtime.UnlockOSThread()
	runtime.GC()
	debug.FreeOSMemory()
	debug.SetMaxThreads(20)
}

func processes() {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	must(err)
	out, err := cat.StdoutPipe()
	must(err)
	must(cat.Start())
	fmt.Fprint(in, "x")
	must(in.Close())
	text, err := io.ReadAll(out)
	must(err)
	must(cat.Wait())
	if string(text) != "x" {
		panic(text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if exec.CommandContext(ctx, "sleep", "10").Run() == nil {
		panic("not killed")
	}
	_, err = exec.Command("sh", "-c", "ls / | wc -l").CombinedOutput()
	must(err)
	session := exec.Command("true")
	session.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	must(session.Run())
}

func signals() {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	must(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	<-got
	signal.Stop(got)
}

func sockets() {
	a, b := net.Pipe()
	go a.Write([]byte("x"))
	_, err := b.Read(make([]byte, 1))
	must(err)
	listener, err := net.Listen("unix", "/tmp/socket")
	must(err)
	go func() {
		connection, err := listener.Accept()
		must(err)
		_, err = io.Copy(connection, connection)
		must(err)
		must(connection.Close())
	}()
	client, err := net.Dial("unix", "/tmp/socket")
	must(err)
	must(client.SetDeadline(time.Now().Add(5 * time.Second)))
	fmt.Fprintln(client, "hello")
	line, err := bufio.NewReader(client).ReadString('\n')
	must(err)
	if line != "hello\n" {
		panic(line)
	}
	must(client.(*net.UnixConn).CloseWrite())
	file, err := os.Create("/tmp/received")
	must(err)
	_, err = io.Copy(file, client)
	must(err)
	must(client.Close())
	must(listener.Close())
	_, _ = net.Listen("tcp", "127.0.0.1:0") // a box has no network
	reader, writer, err := os.Pipe()
	must(err)
	go writer.Write([]byte("x"))
	must(reader.SetReadDeadline(time.Now().Add(time.Second)))
	_, err = reader.Read(make([]byte, 1))
	must(err)
}

func main() {
	files()
	goroutines()
	processes()
	signals()
	sockets()
	_, err := rand.Read(make([]byte, 8))
	must(err)
	_, err = os.Hostname()
	must(err)
	os.Getpagesize()
	_, err = io.ReadAll(os.Stdin)
	must(err)
	fmt.Println("ok", runtime.NumCPU() > 0)
}

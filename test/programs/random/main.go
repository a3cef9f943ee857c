// A line for each random number, from each source: in the program, a goroutine, and a child.
package main

import (
	cryptorand "crypto/rand"
	"fmt"
	"hash/maphash"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"os/exec"
	"runtime"
)

func show(who string) {
	var bytes [8]byte
	cryptorand.Read(bytes[:])
	fmt.Printf("%s crypto\t%x\n", who, bytes)
	fmt.Printf("%s text\t%s\n", who, cryptorand.Text())
	fmt.Printf("%s math\t%d\n", who, rand.Int63())
	fmt.Printf("%s math v2\t%d\n", who, randv2.Uint64())
	fmt.Printf("%s maphash\t%d\n", who, maphash.String(maphash.MakeSeed(), "text"))
	directory, _ := os.MkdirTemp("", "")
	fmt.Printf("%s directory\t%s\n", who, directory)
}

func main() {
	if len(os.Args) > 1 {
		show(os.Args[1])
		return
	}
	show("program")
	done := make(chan bool)
	for _, who := range []string{"goroutine", "other goroutine"} {
		go func() {
			runtime.LockOSThread()
			show(who)
			done <- true
		}()
		<-done
	}
	for _, who := range []string{"child", "other child"} {
		output, err := exec.Command("/proc/self/exe", who).Output()
		if err != nil {
			panic(err)
		}
		fmt.Print(string(output))
	}
	show("program again")
}

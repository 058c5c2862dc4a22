// A Go program with OpenMP in its C code: goroutines call C, which forks a team; its
// members call Go, which calls C again.
package main

// #cgo CFLAGS: -fopenmp -g -O1
// #cgo LDFLAGS: -fopenmp
// #include "team.h"
// #include <stdlib.h>
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

func main() {
	argv := make([]*C.char, len(os.Args)+1)
	for i, arg := range os.Args {
		argv[i] = C.CString(arg)
	}
	list := (**C.char)(C.calloc(C.size_t(len(argv)), 8))
	copy(unsafe.Slice(list, len(argv)), argv)
	C.team_init(C.int(len(os.Args)), list)
	done := make(chan bool)
	go solve(3, done)
	<-done
}

// solve forks the team from some depth of its goroutine's stack.
func solve(depth int, done chan bool) {
	if depth > 0 {
		solve(depth-1, done)
		return
	}
	C.team()
	done <- true
}

//export goMember
func goMember(number C.int) {
	var text [64]byte
	id := int64(0)
	for _, digit := range text[len("goroutine "):runtime.Stack(text[:], false)] {
		if digit == ' ' {
			break
		}
		id = 10*id + int64(digit-'0')
	}
	C.team_goroutine(C.long(id))
	switch number {
	case 0:
		C.team_trigger()
	case 2:
		C.team_hold()
	default:
		_, _, line, _ := runtime.Caller(0)
		C.team_sleep(C.CString("main.goMember"), C.CString("main.go"), C.int(line+2))
		select {} // for ever
	}
}

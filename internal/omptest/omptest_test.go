package omptest

import (
	"debug/elf"
	"testing"
)

func TestPrograms(t *testing.T) {
	for name, threads := range map[string]int{
		"barrier": 4, "nested": 6, "serialized_nested": 2, "taskwait": 3, "lock": 3, "critical": 5, "tasks_queued": 2,
	} {
		t.Run(name, func(t *testing.T) {
			exe := Compile(t, Build{Program: name})
			for _, rt := range Runtimes(t) {
				r := Dump(t, Run{Exe: exe, Runtime: rt, Mode: Kernel})
				if len(r.Truth.Threads) != threads {
					t.Errorf("%s: %d threads, want %d", rt.Name, len(r.Truth.Threads), threads)
				}
				f, err := elf.Open(r.Core)
				if err != nil || f.Type != elf.ET_CORE {
					t.Fatalf("%s: %v", r.Core, err)
				}
				f.Close()
			}
		})
	}
}

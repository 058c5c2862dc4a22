package session_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// goldenCore unpacks a core of testdata/golden; done removes it.
func goldenCore(name string) (core string, o session.Options, done func()) {
	g, done, err := omptest.ExampleCore(name)
	if err != nil {
		log.Fatal(err)
	}
	return g.Core, session.Options{Exe: g.Exe, Sysroot: g.Sysroot}, done
}

// The report of a core: what is wrong, and what each thread does.
func Example() {
	core, options, done := goldenCore("llvm-deadlock")
	defer done()
	ctx := context.Background()
	t, err := session.Open(ctx, core, options)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	answer, err := t.Look(ctx, session.Report())
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Close()
	for _, v := range answer.Picture.Verdicts {
		fmt.Printf("%s: %s (%s)\n", v.Kind, v.Summary, v.Certainty)
	}
	for _, thread := range answer.Picture.Threads {
		fmt.Printf("thread %d: %s\n", *thread.ThreadNum, thread.State.Name)
	}
	// Output:
	// deadlock: 2 threads wait for each other and can never proceed (certain)
	// thread 0: wait_lock
	// thread 1: wait_lock
	// thread 2: work_parallel
}

// A debugger that holds a program asks several questions about one stop.
func ExampleTarget_Hold() {
	core, options, done := goldenCore("gnu-nested")
	defer done()
	ctx := context.Background()
	t, err := session.Open(ctx, core, options)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	stop, err := t.Hold(ctx, session.Everything())
	if err != nil {
		log.Fatal(err)
	}
	defer stop.Close()
	regions := stop.Ask(session.Question{Parts: picture.Parts{Regions: true}})
	threads := stop.Ask(session.Question{Parts: picture.Parts{Threads: true}})
	fmt.Println(len(regions.Picture.Regions), "regions,", len(threads.Picture.Threads), "threads")
	// Output: 4 regions, 6 threads
}

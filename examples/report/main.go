// Command report prints the verdicts on a program and the threads of it that OpenMP uses, by package session.
//
//	report [-exe FILE] [-sysroot DIRECTORY] CORE|PID
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

func main() {
	log.SetFlags(0)
	var o session.Options
	flag.StringVar(&o.Exe, "exe", "", "executable of the core")
	flag.StringVar(&o.Sysroot, "sysroot", "", `directory that replaces "/" of the machine that wrote the core`)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: report [-exe FILE] [-sysroot DIRECTORY] CORE|PID")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := report(ctx, flag.Arg(0), o); err != nil {
		log.Fatal(err)
	}
}

// report opens the target and prints its verdicts and threads.
func report(ctx context.Context, name string, o session.Options) error {
	target, err := session.Open(ctx, name, o)
	if err != nil {
		return err
	}
	defer target.Close()
	result, err := target.Query(ctx, session.Report())
	if err != nil {
		return err
	}
	defer result.Close()
	for _, warning := range result.Picture.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", warning)
	}
	for _, v := range result.Picture.Verdicts {
		fmt.Printf("%s (%s): %s\n", v.Kind, v.Certainty, v.Summary)
	}
	for _, t := range result.Picture.Threads {
		fmt.Printf("%s: %s%s\n", threadName(t), t.State.Name, place(t))
	}
	return nil
}

// threadName returns the number of a thread in its team, or that of the kernel for a thread outside of all teams.
func threadName(t picture.Thread) string {
	if t.ThreadNum == nil {
		return fmt.Sprintf("LWP %d", t.LWP)
	}
	return fmt.Sprintf("thread %d", *t.ThreadNum)
}

// place returns the innermost function of the program on the thread's stack, with its line if that is known.
func place(t picture.Thread) string {
	for _, f := range t.UserStack {
		switch {
		case f.Function == "" || f.Kind != picture.FrameUser:
		case f.Line > 0:
			return fmt.Sprintf(" in %s (%s:%d)", f.Function, f.File, f.Line)
		default:
			return " in " + f.Function
		}
	}
	return ""
}

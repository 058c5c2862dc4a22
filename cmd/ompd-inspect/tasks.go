package main

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
)

// tasksVerb lists all tasks. Unlike the report it does not hold them: a program
// may have queued a million.
func (a *app) tasksVerb() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "tasks CORE|PID", Short: "The tasks: running, waiting, queued, blocked on a dependence", Args: oneTarget,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.see(args[0], wanted{tasks: true}, func(s *seen) error {
				if a.json {
					return a.streamTasks(s)
				}
				p, err := a.printer()
				if err != nil {
					return err
				}
				text.TaskStream(p, a.counted(s.tasks), all)
				if err := s.complete(); err != nil {
					return err
				}
				text.Warnings(p, s.pic)
				return p.Err()
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "one line a task, also where many are alike")
	return cmd
}

// touchTasks reads all tasks of a process, so that the look has them; those of a
// core are read when they are printed.
func (a *app) touchTasks(in *inspect.Inspector) {
	if _, core := in.Target().(*corefile.Core); !core {
		for range in.Tasks() {
		}
	}
}

// counted passes tasks on and tells how many there were, if it takes long.
func (a *app) counted(tasks iter.Seq[inspect.Task]) iter.Seq[inspect.Task] {
	return func(yield func(inspect.Task) bool) {
		n, tell := int64(0), a.progress("reading tasks", "tasks", 1)
		for t := range tasks {
			if n++; n%progressStride == 0 {
				tell(n)
			}
			if !yield(t) {
				return
			}
		}
	}
}

// progressStride is how many tasks are read between two looks at the clock.
const progressStride = 4096

// streamTasks prints the picture with its tasks one by one.
func (a *app) streamTasks(s *seen) error {
	w := bufio.NewWriterSize(a.stdout, 1<<16)
	pic := s.pic
	fields := []field{{"schema", pic.Schema}, {"target", pic.Target}}
	if len(pic.Runtimes) > 0 {
		fields = append(fields, field{"runtimes", pic.Runtimes})
	}
	sep := "{\n"
	for _, f := range fields {
		if err := f.write(w, sep); err != nil {
			return err
		}
		sep = ",\n"
	}
	if _, err := io.WriteString(w, ",\n  \"tasks\": ["); err != nil {
		return err
	}
	sep = "\n    "
	for t := range a.counted(s.tasks) {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep + string(b)); err != nil {
			return err
		}
		sep = ",\n    "
	}
	if err := s.complete(); err != nil {
		return err
	}
	if err := (field{"warnings", append([]string{}, pic.Warnings...)}).write(w, "\n  ],\n"); err != nil {
		return err
	}
	if _, err := w.WriteString("\n}\n"); err != nil {
		return err
	}
	return w.Flush()
}

// field is a key of the outermost object and its value.
type field struct {
	name  string
	value any
}

// write prints the field behind a separator.
func (f field) write(w io.Writer, sep string) error {
	b, err := json.MarshalIndent(f.value, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, sep+"  \""+f.name+"\": "+string(b))
	return err
}

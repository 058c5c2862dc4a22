package main

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
)

// tasksVerb lists all tasks. Unlike the report it does not hold them: a program
// may have queued a million.
func (a *app) tasksVerb() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "tasks CORE", Short: "The tasks: running, waiting, queued, blocked on a dependence", Args: oneTarget,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withTarget(args[0], func(in *inspect.Inspector) error {
				if a.json {
					return a.streamTasks(in)
				}
				p, err := a.printer()
				if err != nil {
					return err
				}
				text.TaskStream(p, in.Tasks(), all)
				text.Warnings(p, in.Picture(inspect.Parts{}))
				return p.Err()
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "one line a task, also where many are alike")
	return cmd
}

// streamTasks prints the picture with its tasks one by one.
func (a *app) streamTasks(in *inspect.Inspector) error {
	w := bufio.NewWriterSize(a.stdout, 1<<16)
	pic := in.Picture(inspect.Parts{})
	fields := []struct {
		name  string
		value any
	}{{"schema", pic.Schema}, {"target", pic.Target}, {"runtimes", pic.Runtimes}}
	sep := "{\n"
	for _, f := range fields {
		if err := writeField(w, sep, f.name, f.value); err != nil {
			return err
		}
		sep = ",\n"
	}
	if _, err := io.WriteString(w, ",\n  \"tasks\": ["); err != nil {
		return err
	}
	sep = "\n    "
	for t := range in.Tasks() {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep + string(b)); err != nil {
			return err
		}
		sep = ",\n    "
	}
	if err := writeField(w, "\n  ],\n", "warnings", append([]string{}, in.Warnings()...)); err != nil {
		return err
	}
	if _, err := w.WriteString("\n}\n"); err != nil {
		return err
	}
	return w.Flush()
}

func writeField(w io.Writer, sep, name string, value any) error {
	b, err := json.MarshalIndent(value, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, sep+"  \""+name+"\": "+string(b))
	return err
}

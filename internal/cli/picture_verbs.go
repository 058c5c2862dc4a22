package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// reportVerb returns the verb report.
func (a *app) reportVerb() *cobra.Command {
	return a.pictureVerb("report", "Show the verdicts, threads, regions, tasks and stacks (the default "+
		"verb)", engine.Report(),
		report.Whole)
}

// verb returns a verb that prints parts of a picture of one target.
func (a *app) verb(name, short string, want picture.Parts, v report.View) *cobra.Command {
	return a.pictureVerb(name, short, engine.Query{Parts: want}, v)
}

// pictureVerb returns a verb that makes a picture and prints the given view of it.
func (a *app) pictureVerb(name, short string, want engine.Query, v report.View) *cobra.Command {
	a.setView(name, v)
	return a.targeted(&cobra.Command{
		Use: name + " CORE|PID", Short: short,
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := restrict(a.withNative(want), a.only, v == report.Whole || a.numbers)
			if err != nil {
				return err
			}
			if v == report.Whole && !q.All() {
				v = report.Part
			}
			if err := a.checkOutput(v); err != nil {
				return err
			}
			return a.askPicture(args[0], q, func(pic *picture.Picture) error { return a.print(pic, v) })
		},
	})
}

// setView records the view that a verb prints.
func (a *app) setView(verb string, v report.View) {
	if a.views == nil {
		a.views = map[string]report.View{}
	}
	a.views[verb] = v
}

// withNative adds native stacks to a question about threads. JSON and the other formats for programs contain
// them only on request.
func (s *style) withNative(want engine.Query) engine.Query {
	want.Native = want.Threads && (s.native || s.isJSON())
	return want
}

func (a *app) icvsVerb() *cobra.Command {
	return a.pictureVerb("icvs", "List the internal control variables by scope, with the source of each value",
		engine.Query{Parts: picture.Parts{ICVs: true}}, report.ICVs)
}

func (a *app) devicesVerb() *cobra.Command {
	cmd := a.verb("devices", "List the devices of target regions, and the data that is mapped to them",
		picture.Parts{Devices: true}, report.Devices)
	cmd.Long = `Lists the devices of LLVM's offloading library (libomptarget 14 to 19, 22), and the data
that is mapped to each: its expression in the map clause, the addresses on the host and on
the device, the size, the reference count, and the declaration of the variable or member.
Names and declarations need a program that was compiled with -g. Data that stays mapped,
such as declare target variables, has the reference count "always".`
	return cmd
}

func (a *app) layoutVerb() *cobra.Command {
	cmd := a.pictureVerb("layout", "List the offset of each field of the runtime, its source, and the sources that "+
		"agree",
		engine.Query{Layout: true}, report.Layout)
	list := strings.Join(engine.LayoutSources, ", ")
	cmd.Flags().StringArrayVar(&a.open.sources, "source", nil, "use only this source: "+list+" (may be repeated)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, s := range a.open.sources {
			if !slices.Contains(engine.LayoutSources, s) {
				return usageError{fmt.Errorf("--source %q: it must be one of %s", s, list)}
			}
		}
		return nil
	}
	return cmd
}

func (a *app) doctorVerb() *cobra.Command {
	cmd := a.pictureVerb("doctor", "Check what can be read of a target; for each missing part, show the cause and "+
		"the fix",
		engine.Query{Parts: picture.Parts{Devices: true}, Checks: true}, report.Doctor)
	cmd.Long = `Checks what can be read of a target; for each missing part, it shows the cause and
the fix.

--compare asks another OMPD library, such as LLVM's or that of another maker, the same
facts about the target: threads, regions, tasks, control variables. It shows where the
answers differ. It is a check: no verdict rests on it, and equal answers do not prove that
both are right. The library runs in a process without rights, ` + compareHelper + `.`
	library := ""
	cmd.Flags().StringVar(&library, "compare", "", "compare the answers of this OMPD library (libompd.so) with our "+
		"own; --all lists equal answers too")
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !cmd.Flags().Changed("compare"):
			return check(cmd, args)
		case a.pid != 0:
			args = []string{a.pid.String()}
		}
		return a.compare(args[0], library)
	}
	return cmd
}

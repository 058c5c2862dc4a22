package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
)

// exitFound is the exit status of diagnose if there is a verdict of the kinds
// that --fail-on names.
const exitFound = 3

// errFound is the reason of exitFound; what was found is already printed.
var errFound = errors.New("a verdict was found")

// failOnHang is the value of --fail-on that means every verdict of a hang.
const failOnHang = "hang"

// diagnosed returns a function that makes a picture with verdicts.
func (a *app) diagnosed(want inspect.Parts) func(*inspect.Inspector) *inspect.Picture {
	return func(in *inspect.Inspector) *inspect.Picture {
		want.Native = a.native || a.json
		pic := in.Picture(want)
		pic.Verdicts = diagnose.Run(in, pic)
		return pic
	}
}

// reportVerb shows everything, the verdicts first.
func (a *app) reportVerb() *cobra.Command {
	return a.pictureVerb("report", "What is wrong, threads, regions, tasks and stacks (the default)", a.diagnosed(inspect.ReportParts()), a.printReport)
}

// diagnoseVerb prints only the verdicts and tells by the exit status whether
// there is one.
func (a *app) diagnoseVerb() *cobra.Command {
	var failOn []string
	var pic *inspect.Picture
	cmd := a.pictureVerb("diagnose", "Only what is wrong: deadlocks, who is missing at a barrier, why it died", func(in *inspect.Inspector) *inspect.Picture {
		full := a.diagnosed(diagnose.Parts())(in)
		pic = &inspect.Picture{Schema: full.Schema, Target: full.Target, Runtimes: full.Runtimes, Verdicts: full.Verdicts, Warnings: full.Warnings}
		return pic
	}, func(p *text.Printer, pic *inspect.Picture) {
		text.Header(p, pic)
		text.Verdicts(p, pic)
		text.Warnings(p, pic)
	})
	cmd.Long = `Prints only the verdicts: what keeps the program from going on, or killed it,
and how that is known. docs/verdicts.md says what each kind means.

Exit status: 0 nothing found, 3 a verdict of the kinds of --fail-on was found (with
certainty certain or likely), 1 the target could not be read, 2 wrong usage.`
	cmd.Flags().StringSliceVar(&failOn, "fail-on", []string{failOnHang}, "exit with status 3 on verdicts of these kinds: hang for all that say so, or "+strings.Join(diagnose.Kinds(), ", ")+", or none")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, k := range failOn {
			if k != failOnHang && k != "none" && !slices.Contains(diagnose.Kinds(), k) {
				return usageError{fmt.Errorf("--fail-on %q: it is hang, none, or one of %s", k, strings.Join(diagnose.Kinds(), ", "))}
			}
		}
		if err := inner(cmd, args); err != nil {
			return err
		}
		if slices.ContainsFunc(pic.Verdicts, func(v inspect.Verdict) bool { return fails(v, failOn) }) {
			return errFound
		}
		return nil
	}
	return cmd
}

// fails tells whether v is one of the verdicts that --fail-on names.
func fails(v inspect.Verdict, failOn []string) bool {
	return slices.Contains(failOn, failOnHang) && diagnose.Hangs(v) ||
		slices.Contains(failOn, v.Kind) && v.Certainty != inspect.Possible
}

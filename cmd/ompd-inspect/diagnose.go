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

// reportVerb shows everything, the verdicts first.
func (a *app) reportVerb() *cobra.Command {
	return a.pictureVerb("report", "What is wrong, threads, regions, tasks and stacks (the default)", wanted{Parts: inspect.ReportParts(), verdicts: true}, a.printReport)
}

// diagnoseVerb prints only the verdicts and tells by the exit status whether
// there is one.
func (a *app) diagnoseVerb() *cobra.Command {
	var failOn []string
	cmd := &cobra.Command{
		Use: "diagnose CORE|PID", Short: "Only what is wrong: deadlocks, who is missing at a barrier, why it died", Args: oneTarget,
	}
	cmd.Long = `Prints only the verdicts: what keeps the program from going on, or killed it,
and how that is known. docs/verdicts.md says what each kind means.

Exit status: 0 nothing found, 3 a verdict of the kinds of --fail-on was found (with
certainty certain or likely), 1 the target could not be read, 2 wrong usage.`
	cmd.Flags().StringSliceVar(&failOn, "fail-on", []string{failOnHang}, "exit with status 3 on verdicts of these kinds: hang for all that say so, or "+strings.Join(diagnose.Kinds(), ", ")+", or none")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, k := range failOn {
			if k != failOnHang && k != "none" && !slices.Contains(diagnose.Kinds(), k) {
				return usageError{fmt.Errorf("--fail-on %q: it is hang, none, or one of %s", k, strings.Join(diagnose.Kinds(), ", "))}
			}
		}
		return a.see(args[0], wanted{verdicts: true}, func(s *seen) error {
			err := a.print(s.pic, printVerdicts)
			if err == nil && slices.ContainsFunc(s.pic.Verdicts, func(v inspect.Verdict) bool { return fails(v, failOn) }) {
				err = errFound
			}
			return err
		})
	}
	return cmd
}

// printVerdicts prints only what is wrong.
func printVerdicts(p *text.Printer, pic *inspect.Picture) {
	text.Header(p, pic)
	text.Verdicts(p, pic)
	text.Warnings(p, pic)
}

// fails tells whether v is one of the verdicts that --fail-on names.
func fails(v inspect.Verdict, failOn []string) bool {
	return slices.Contains(failOn, failOnHang) && diagnose.Hangs(v) ||
		slices.Contains(failOn, v.Kind) && v.Certainty != inspect.Possible
}

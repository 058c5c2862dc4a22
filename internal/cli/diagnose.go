package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// errFound is the reason of ExitFound; what was found is already printed.
var errFound = errors.New("a verdict was found")

// failOnHang is the value of --fail-on that means every verdict of a hang.
const failOnHang = "hang"

// failOnNothing is the value of --fail-on that means no verdict.
const failOnNothing = "none"

// reportVerb shows everything, the verdicts first.
func (a *app) reportVerb() *cobra.Command {
	return a.pictureVerb("report", "What is wrong, threads, regions, tasks and stacks (the default)", session.Report(),
		report.Whole)
}

// diagnoseVerb prints only the verdicts and tells by the exit status whether
// there is one.
func (a *app) diagnoseVerb() *cobra.Command {
	var failOn []string
	cmd := &cobra.Command{
		Use: "diagnose CORE|PID|PICTURE.json", Short: "Only what is wrong: deadlocks, who is missing at a barrier, " +
			"why it died",
	}
	cmd.Long = `Prints only the verdicts: what blocks the program, or killed it,
and how that is known. docs/verdicts.md says what each kind means. Of a picture that
"ompd-inspect report --json" saved as a file *.json, the verdicts are drawn anew.

Exit status: 0 nothing found, 3 a verdict of the kinds of --fail-on was found (with
certainty certain or likely), 1 the target could not be read, or not enough of it to
tell, 2 wrong usage.`
	cmd.Flags().StringSliceVar(&failOn, "fail-on", []string{failOnHang},
		"exit with status 3 on verdicts of these kinds: hang for all that say so, or "+
			strings.Join(diagnose.Names(), ", ")+", or none")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, k := range failOn {
			if k != failOnHang && k != failOnNothing && !slices.Contains(diagnose.Names(), k) {
				return usageError{fmt.Errorf("--fail-on %q: it is hang, none, or one of %s", k,
					strings.Join(diagnose.Names(), ", "))}
			}
		}
		// Whether the threads could be read says what it means that there is no verdict.
		question := session.Question{Parts: inspect.Parts{Threads: true}, Verdicts: true}
		return a.seePicture(args[0], question, func(pic *picture.Picture) error {
			err := a.print(pic, report.Verdicts)
			if err == nil {
				err = judge(pic, failOn)
			}
			return err
		})
	}
	a.show(cmd.Name(), report.Verdicts)
	return a.targeted(cmd)
}

// judge is errFound if a picture has a verdict that --fail-on names. That there is none
// means nothing if the picture does not tell.
func judge(pic *picture.Picture, failOn []string) error {
	if slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool { return fails(v, failOn) }) {
		return errFound
	}
	if why := pic.Undecided(); why != "" {
		return fmt.Errorf("not known whether it hangs: %s (`ompd-inspect doctor` says what is missing)", why)
	}
	return nil
}

// fails reports whether v is one of the verdicts that --fail-on names.
func fails(v picture.Verdict, failOn []string) bool {
	return slices.Contains(failOn, failOnHang) && diagnose.Hangs(v) ||
		slices.Contains(failOn, string(v.Kind)) && v.Certainty != picture.Possible
}

//go:build lean

package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/session"
)

// The lean build has the verbs of one look at a core or a process of this machine, and
// nothing of gRPC, HTTP, TLS and HTML, as the packages of these, which Go initialises in each
// process, take more time than a small look. For everything else it goes on as the whole
// program (Command.Whole), in doubt too: that says what is wrong with a command line.

// beyond are the targets that are not looked at by this process itself: none.
type beyond struct{}

func (beyond) flags(*cobra.Command) {}
func (beyond) remote() bool         { return false }
func (beyond) has(string) bool      { return false }

func openers(*app) []session.Opener { return nil }

func withOthers(_ *app, looks []*cobra.Command) []*cobra.Command { return looks }

// withoutTarget is never called: answers refuses a command line without a target.
func withoutTarget(context.Context, *app) error { return errors.ErrUnsupported }

func canceled(err error) bool { return errors.Is(err, context.Canceled) }

// answers reports whether a command line certainly asks for what this build does.
func answers(args []string) bool {
	if os.Getenv("DEBUGINFOD_URLS") != "" {
		return false
	}
	for _, arg := range args {
		if isOthers(arg) {
			return false
		}
	}
	return slices.ContainsFunc(args, isTarget) || slices.Contains(args, "version")
}

// isOthers reports whether a word of a command line may want more than a look: as a verb, a
// flag, or the value of one.
func isOthers(word string) bool {
	if flag := strings.TrimLeft(word, "-"); flag != word {
		name, _, _ := strings.Cut(flag, "=")
		if strings.HasPrefix(name, "server") || slices.Contains([]string{"help", "h", "version", "v"}, name) {
			return true
		}
	}
	for _, c := range builtin {
		if c.Name() == word {
			return true
		}
	}
	return strings.Contains(word, "html") || strings.Contains(word, "://") || slices.Contains(otherVerbs, word)
}

// isTarget reports whether a word names what can be looked at here.
func isTarget(word string) bool {
	if pid, err := strconv.Atoi(word); err == nil {
		return pid > 0
	}
	_, err := os.Stat(word)
	return err == nil
}

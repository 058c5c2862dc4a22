package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// patternFile is the kernel's setting for the place of cores.
const patternFile = "/proc/sys/kernel/core_pattern"

// maxPattern bounds core_pattern, in bytes. The kernel keeps 128.
const maxPattern = 4096

// readCorePattern returns the kernel's setting for the place of cores; "" if it cannot be read.
func readCorePattern() string {
	f, err := os.Open(patternFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPattern))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// explainPattern returns the place of the cores of this machine, and the command that finds them, for a value of
// core_pattern. exists reports whether a file exists.
func explainPattern(pattern string, exists func(string) bool) string {
	program, piped := strings.CutPrefix(pattern, "|")
	if !piped {
		dir, name := filepath.Split(pattern)
		switch {
		case pattern == "":
			return ""
		case dir == "":
			return "the kernel writes cores of this machine as " + name + " in the program's directory, if `ulimit " +
				"-c` allows it"
		}
		return "the kernel writes cores of this machine to " + dir + ", if `ulimit -c` allows it"
	}
	program, _, _ = strings.Cut(strings.TrimSpace(program), " ")
	base := filepath.Base(program)
	switch {
	case !exists(program):
		return "cores of this machine go to " + program + ", which is not here: this is a container, and they are on " +
			"its host; or take one with `gcore PID`, or `ompd-inspect run --core FILE -- PROGRAM`"
	case strings.HasPrefix(base, "systemd-coredump"):
		return "systemd-coredump keeps the cores of this machine: `coredumpctl list` shows all of them, " +
			"`ompd-inspect cores` those of OpenMP programs"
	case strings.HasPrefix(base, "apport"):
		return "apport keeps the cores of this machine in /var/crash/*.crash, one for each program: `ompd-inspect " +
			"cores` shows those of OpenMP programs; of programs without a package, it keeps none"
	case strings.HasPrefix(base, "abrt"):
		return "abrt keeps the cores of this machine: `abrt list` shows all of them, `ompd-inspect cores` those of " +
			"OpenMP programs"
	}
	return "cores of this machine go to the program " + program
}

// explainNotCore adds the place of this machine's cores to the error for a file that is no core.
func explainNotCore(pattern string, err error) error {
	if !errors.Is(err, corefile.ErrNotCore) || isProgramError(err) || !strings.Contains(pattern, "/") {
		return err // without a directory, cores are where err expects them
	}
	where := explainPattern(pattern, fileExists)
	if where == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, where)
}

// fileExists reports whether a file exists.
func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// corePlaces returns patterns for the files of cores: those of collectors, the directory that core_pattern names,
// and the current directory.
func corePlaces(pattern string) []string {
	places := []string{
		"/var/lib/systemd/coredump/core.*", "/var/crash/*.crash", "/var/spool/abrt/*/coredump",
		"/var/tmp/abrt/*/coredump", "core", "core.*", "*.core",
	}
	if filepath.IsAbs(pattern) {
		places = append(places, corePatternGlob(pattern))
	}
	return places
}

// corePatternGlob returns the pattern of filepath.Glob for an absolute core_pattern: each specifier, such as %p,
// matches any text. The kernel may append the number of the process.
func corePatternGlob(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '%' && i+1 < len(pattern):
			i++
			if pattern[i] == '%' {
				b.WriteByte('%')
			} else {
				b.WriteByte('*')
			}
		case strings.IndexByte(`*?[\`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "*"
}

// Limits of a search for cores.
const (
	maxCoreFiles = 64 // newest files that are opened
	coresShown   = 10 // cores of OpenMP programs
)

// coreCandidate is a file that may be a core.
type coreCandidate struct {
	path string
	info fs.FileInfo
}

// findCandidates returns the regular files that match patterns, the newest first.
func findCandidates(patterns []string) (list []coreCandidate) {
	seen := map[string]bool{}
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern) // an invalid pattern matches nothing
		for _, path := range paths {
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() && info.Size() > 0 && !seen[path] {
				list = append(list, coreCandidate{path, info})
			}
			seen[path] = true
		}
	}
	slices.SortStableFunc(list, func(a, b coreCandidate) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	return list
}

// coresVerb returns the verb cores.
func (a *app) coresVerb() *cobra.Command {
	return &cobra.Command{
		Use: "cores", Short: "List the newest cores of OpenMP programs on this machine", Args: cobra.NoArgs,
		Long: `Lists the newest cores of programs with an OpenMP runtime: those that systemd-coredump,
apport or abrt keep, those in the directory that /proc/sys/kernel/core_pattern names, and
those in the current directory. Of all files that may be cores, it opens the newest 64.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.findCores(cmd.Context(), coresShown)
			if err != nil {
				return err
			}
			switch f, err := a.format(); {
			case err != nil:
				return err
			case f == report.JSON:
				return report.WriteJSON(a.Stdout, list)
			case f != report.Text:
				return usageError{fmt.Errorf("cores: there is no format %s of it: text or json", f)}
			}
			o, err := a.printerOptions(a.Stdout)
			if err != nil {
				return err
			}
			p := text.New(a.Stdout, o.Color, o.Width)
			text.Cores(p, list)
			return p.Err()
		},
	}
}

// lastVerb returns the verb last.
func (a *app) lastVerb() *cobra.Command {
	return &cobra.Command{
		Use: "last", Short: "Report on the newest core of an OpenMP program on this machine", Args: cobra.NoArgs,
		Long: `Reports on the first core that "ompd-inspect cores" lists: the newest one of a program with
an OpenMP runtime.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkOutput(report.Whole); err != nil {
				return err
			}
			list, err := a.findCores(cmd.Context(), 1)
			if err != nil {
				return err
			}
			if len(list.Cores) == 0 {
				return fmt.Errorf("no core of an OpenMP program was found: %s", list.Note)
			}
			q := a.withNative(engine.Report())
			return a.askPicture(list.Cores[0].Path, q, func(pic *picture.Picture) error {
				return a.print(pic, report.Whole)
			})
		},
	}
}

// findCores finds up to n of the newest cores of OpenMP programs.
func (a *app) findCores(ctx context.Context, n int) (list text.CoreList, err error) {
	if err := a.refuseRemote("cores"); err != nil {
		return list, err
	}
	pattern := readCorePattern()
	where := explainPattern(pattern, fileExists)
	if err := a.lockDown([]string{os.TempDir()}); err != nil {
		return list, err
	}
	list.Cores = []text.Core{}
	files := findCandidates(corePlaces(pattern))
	progress := a.progress("looking for cores of OpenMP programs", "opened", 1)
	opened, denied := 0, 0
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return list, err
		}
		switch kind := probe(f.path); {
		case unix.Access(f.path, unix.R_OK) != nil:
			denied++
			continue
		case kind != coreFile && kind != packedFile:
			continue
		}
		if opened == maxCoreFiles || len(list.Cores) == n {
			break
		}
		progress(int64(opened), 0)
		opened++
		if c, ok := a.describeCore(ctx, f); ok {
			list.Cores = append(list.Cores, c)
		}
	}
	words := []string{fmt.Sprintf("opened %d of %d files that may be cores", opened, len(files))}
	if denied > 0 {
		words = append(words, fmt.Sprintf("%d cannot be read by this user: sudo ompd-inspect cores", denied))
	}
	list.Note = strings.Join(append(words, cmp.Or(where, "/proc/sys/kernel/core_pattern cannot be read")), "; ")
	return list, nil
}

// describeCore opens a core and describes it. ok is false if its program has no OpenMP runtime, or if it cannot
// be read.
func (a *app) describeCore(ctx context.Context, f coreCandidate) (c text.Core, ok bool) {
	o := a.open.engineOptions()
	o.NoDebug, o.Work, o.Debuginfod = true, a.budget, nil
	t, err := engine.Open(ctx, f.path, o)
	if err != nil {
		return c, false
	}
	defer t.Close()
	answer, err := t.Look(ctx, engine.Query{Budget: a.budget})
	if err != nil {
		return c, false
	}
	defer answer.Close()
	target, runtimes := answer.Picture.Target, answer.Picture.Runtimes
	if len(runtimes) == 0 {
		return c, false
	}
	return text.Core{
		Path: f.path, Time: f.info.ModTime().Format(time.RFC3339), Bytes: f.info.Size(), PID: target.PID,
		Executable: target.Executable, Signal: target.Signal, Runtime: runtimes[0].Name,
	}, true
}

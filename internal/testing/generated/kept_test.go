package generated

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// specimen is a program that failed once, as small as possible, and how it was built and run.
type specimen struct {
	Failed   string // class of the finding
	Seed     uint64 // of the original program
	Compiler string
	Plus     bool
	Flags    []string
	Far      string   `json:",omitempty"`
	Extra    []string `json:",omitempty"`
	Runtime  string
	Env      []string
	Program  *Program
}

func newSpecimen(c Config, p *Program, class string, seed uint64) specimen {
	return specimen{
		Failed: class, Seed: seed, Compiler: filepath.Base(c.Compiler), Plus: c.Plus != "", Flags: c.Flags,
		Far: c.Far, Extra: c.Extra, Runtime: c.Runtime, Env: c.Env, Program: p,
	}
}

func (k specimen) write(path string) error {
	text, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return fmt.Errorf("kept program: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// fails reports whether a program fails in the same way when it is run alone.
func (k *campaign) fails(c Config, p *Program, class string) bool {
	out, err := k.alone(c, p)
	return err == nil && slices.ContainsFunc(out.Findings, func(f Finding) bool { return f.Class == class })
}

// alone builds and runs one program.
func (k *campaign) alone(c Config, p *Program) (Outcome, error) {
	dir, err := os.MkdirTemp(k.dir, "alone")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	exe, err := k.common.build(dir, c, []*Program{p})
	if err != nil {
		return Outcome{}, err
	}
	return Run(exe, c, p, 0, true)
}

// TestKept runs the programs that once showed a defect of the tool, or those of the option kept.
func TestKept(t *testing.T) {
	omptest.Needs(t, "compilers")
	pattern := "testdata/*.json"
	if dir := omptest.Option("kept"); dir != "" {
		pattern = filepath.Join(dir, "*.json")
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	k := newCampaign(t)
	all := configs(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			var p specimen
			if err == nil {
				err = json.Unmarshal(text, &p)
			}
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(c Config) bool {
				return filepath.Base(c.Compiler) == p.Compiler && (c.Plus != "") == p.Plus && c.Runtime == p.Runtime &&
					slices.Equal(c.Flags, p.Flags)
			})
			if i < 0 {
				omptest.NeedsMore(t, p.Compiler+" and "+p.Runtime)
				t.Fatalf("no such way to build: %+v", p)
			}
			c := all[i]
			c.Env, c.Far, c.Extra = p.Env, p.Far, p.Extra
			out, err := k.alone(c, p.Program)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range out.Findings {
				t.Errorf("%s: %s", f.Class, f.Text)
			}
			if p.Program.Mistake != Healthy && !out.Hang {
				t.Errorf("no hang")
			}
		})
	}
}

// TestShrinkFault makes the judge ignore verdicts, so that it finds a hang unexplained, and shrinks the program.
func TestShrinkFault(t *testing.T) {
	omptest.Needs(t, "compilers")
	k := newCampaign(t)
	c := configs(t)[0]
	c.Env = modes[0]
	blind = func(pic *picture.Picture) {
		pic.Verdicts = slices.DeleteFunc(pic.Verdicts, diagnose.Hangs)
	}
	defer func() { blind = nil }()
	p := &Program{Threads: 3, Mistake: TakenTwice, Helpers: make([][]*Step, maxHelper), Milliseconds: 60}
	p.Body = []*Step{{Kind: Work, N: 3}, {Kind: Wrong}}
	const class = "hang unexplained"
	small, failed := shrink(p, func(p *Program) bool { return k.fails(c, p, class) }, shrinkTrials)
	if text, _ := json.Marshal(small); !failed || small.steps() != 1 || small.Threads != 2 {
		t.Errorf("%s", text)
	}
}

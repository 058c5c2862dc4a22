package mutate

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestMutatedPictures reads mutants of saved pictures: some hundred, or as many as a campaign wants.
func TestMutatedPictures(t *testing.T) {
	saved, err := filepath.Glob(filepath.Join(goldenDir, "*", "picture.json"))
	if err != nil || len(saved) < 20 {
		t.Fatalf("%d saved pictures, %v", len(saved), err)
	}
	var texts [][]byte
	for _, path := range saved {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "picture.json")
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	n, seed := omptest.Number(t, "pictures", 200), omptest.Number(t, "seed", 1)
	answered, refused := 0, 0
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(seed+i), 23))
		text, err := JSON(r, texts[(seed+i)%len(texts)])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args := [][]string{
			{"report", path}, {"report", "--json", path}, {"report", "--all", path},
			{"report", "--format", "html", path}, {"diagnose", path}, {"diagnose", "--json", path},
		}[r.IntN(6)]
		before := processorTime()
		status, stdout, stderr, panicked := run(t, out, args)
		switch used := processorTime() - before; {
		case panicked != "" || used > mostTime:
			t.Errorf("seed %d, %q of %s: %v, %s", seed+i, args, saved[(seed+i)%len(saved)], used, panicked)
		case status == cli.ExitError:
			refused++
		case status != cli.ExitOK && status != cli.ExitFound && status != cli.ExitCrash:
			t.Errorf("seed %d, %q: exit status %d: %s", seed+i, args, status, stderr)
		default:
			answered++
			if bytes := controls(stdout); bytes != "" {
				t.Errorf("seed %d, %q: the output has %q", seed+i, args, bytes)
			}
		}
	}
	t.Logf("%d mutants of %d pictures, seeds %d to %d: %d answered, %d refused", n, len(texts), seed, seed+n-1,
		answered, refused)
	if n >= 200 && (answered == 0 || refused == 0) {
		t.Errorf("the mutants are all alike: %d answered, %d refused", answered, refused)
	}
}

// controls returns the control characters of an output that no printer writes.
func controls(text []byte) (found string) {
	for _, c := range string(text) {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			found += string(c)
		}
	}
	return found
}

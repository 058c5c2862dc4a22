package packaging

import (
	"archive/tar"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// epoch is the time of the tarballs that the tests build, in seconds since 1970.
const epoch = "1700000000"

// copySource copies the sources into a new directory, without git's files and build outputs.
func copySource(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, root, "sh", "-c", `tar --exclude=./.git --exclude=./bin --exclude=./dist --exclude=node_modules -cf - . |
		tar -xf - -C "$1"`, "sh", dir)
}

// makeDist runs a target of the Makefile that writes into the directory dist, with a command that compresses
// the tarball. It returns the path of that directory.
func makeDist(t *testing.T, source, target, compress string, env ...string) string {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	cmd := exec.Command("make", "-s", target, "DIST="+dist, "XZ="+compress)
	cmd.Dir = source
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH="+epoch), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return dist
}

// onlyFile returns the path of the only file that matches a pattern.
func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %q, %v, want one file", pattern, files, err)
	}
	return files[0]
}

// places lists directories with paths of different lengths.
var places = []string{"a", "another-place/with-a-longer-name"}

// TestSameLibrary builds the recorder in two places: both are the same.
func TestSameLibrary(t *testing.T) {
	omptest.Needs(t, "make and gcc")
	var libraries []string
	for _, place := range places {
		source := filepath.Join(t.TempDir(), place)
		copySource(t, source)
		command(t, source, "make", "-s", "libompd-recorder.so", "CFLAGS=-O0") // faster
		b, err := os.ReadFile(filepath.Join(source, "bin/libompd-recorder.so"))
		if err != nil {
			t.Fatal(err)
		}
		libraries = append(libraries, string(b))
	}
	if libraries[0] != libraries[1] || libraries[0] == "" {
		t.Errorf("two builds of the recorder differ: %d and %d bytes", len(libraries[0]), len(libraries[1]))
	}
}

// TestTarball builds the tarball twice, from copies of the sources in different places: both are the same. It
// contains the files of `make install`, sorted by name, with one owner and one time. It is compressed by gzip,
// because `make test` must not need xz.
func TestTarball(t *testing.T) {
	omptest.Needs(t, "make and gcc")
	var dists []string
	for i, place := range places {
		source := filepath.Join(t.TempDir(), place)
		copySource(t, source)
		dists = append(dists, makeDist(t, source, "tarball", "gzip -1n", []string{"TZ=UTC", "TZ=Asia/Tokyo"}[i],
			[]string{"LC_ALL=C", "LC_ALL=C.UTF-8"}[i]))
		// No file contains the directory of the sources.
		for _, lib := range []string{"libompd.so", "libompd-recorder.so", "ompd-compare"} {
			b, err := os.ReadFile(filepath.Join(dists[i], "build", lib))
			if err != nil || strings.Contains(string(b), source) {
				t.Errorf("%s has the path %s in it, %v", lib, source, err)
			}
		}
		command(t, dists[i], "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	sums := make([]string, len(dists))
	for i, dist := range dists {
		b, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(b)
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("two builds differ, or are not a tarball and a bill of materials:\n%s\n%s", sums[0], sums[1])
	}
	checkTarball(t, onlyFile(t, filepath.Join(dists[0], "*.tar.gz")))
	tree := onlyFile(t, filepath.Join(dists[0], "tree/*"))
	checkFiles(t, tree)
	checkBill(t, onlyFile(t, filepath.Join(dists[0], "*.cdx.json")), filepath.Join(tree, "bin/ompd-inspect"))
}

// checkTarball compares the entries of a tarball with its tree, and checks that they are reproducible.
func checkTarball(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".tar.gz")
	var names []string
	r := tar.NewReader(unpacked)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimSuffix(h.Name, "/"))
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s is of user %d, group %d, %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		mode := int64(0o644)
		switch {
		case h.Typeflag == tar.TypeSymlink:
			mode = 0o777
		case h.Typeflag == tar.TypeDir, strings.HasSuffix(h.Name, "/bin/ompd-inspect"),
			strings.HasSuffix(h.Name, "/lib/ompd-inspect/ompd-compare"):
			mode = 0o755
		}
		if h.Mode != mode || !strings.HasPrefix(h.Name, name+"/") {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
	var want []string
	tree := filepath.Join(filepath.Dir(path), "tree")
	command(t, tree, "test", "-e", name)
	for line := range strings.Lines(command(t, tree, "find", name)) {
		want = append(want, strings.TrimSuffix(line, "\n"))
	}
	slices.Sort(want)
	got := slices.Sorted(slices.Values(names))
	omptest.Equal(t, "entries", got, want)
	// Each directory comes before its files, and the names in it are sorted.
	byPath := func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }
	if !slices.IsSortedFunc(names, byPath) {
		t.Errorf("the names are not sorted: %q", names)
	}
}

// Forms of serial numbers in CycloneDX 1.5, and of package URLs.
var (
	serialForm = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	purlForm   = regexp.MustCompile(`^pkg:golang/[A-Za-z0-9._~/-]+@[A-Za-z0-9._~%-]+$`)
)

// checkBill compares a bill of materials with the modules of a program and with the rules of CycloneDX. The
// whole document was validated with the schemas of 1.5 and 1.6, which are too large for this repository.
func checkBill(t *testing.T, path, program string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type component struct {
		Type, Name, Version, PURL string
		Ref                       string `json:"bom-ref"`
		Licenses                  []struct{ Expression string }
	}
	var bill struct {
		BOMFormat, SpecVersion, SerialNumber string
		Version                              int
		Metadata                             struct {
			Timestamp time.Time
			Component component
		}
		Components   []component
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(b, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" || bill.SpecVersion != "1.5" || bill.Version != 1 ||
		!serialForm.MatchString(bill.SerialNumber) || bill.Metadata.Component.Type != "application" {
		t.Errorf("the head of the bill is %.500s", b)
	}
	omptest.Equal(t, "the time of the bill", bill.Metadata.Timestamp.Unix(), int64(1700000000))
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	modules := []string{"std " + strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")}
	for _, m := range info.Deps {
		modules = append(modules, m.Path+" "+m.Version)
	}
	var listed, refs []string
	for _, c := range bill.Components {
		listed, refs = append(listed, c.Name+" "+c.Version), append(refs, c.Ref)
		if c.Type != "library" || !purlForm.MatchString(c.PURL) || len(c.Licenses) != 1 ||
			c.Licenses[0].Expression == "" {
			t.Errorf("component %+v", c)
		}
	}
	omptest.Equal(t, "components", listed, modules)
	if len(bill.Dependencies) != 1 || bill.Dependencies[0].Ref != bill.Metadata.Component.Ref {
		t.Fatalf("dependencies %+v", bill.Dependencies)
	}
	omptest.Equal(t, "dependencies", bill.Dependencies[0].DependsOn, refs)
	omptest.Equal(t, "different references", len(slices.Compact(slices.Sorted(slices.Values(refs)))), len(refs))
}

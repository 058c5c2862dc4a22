package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestOtherVerbs holds the verbs that a lean build leaves to the whole program against all
// that there are.
func TestOtherVerbs(t *testing.T) {
	a := &app{}
	var all []string
	for _, v := range a.verbs() {
		all = append(all, v.Name())
	}
	looks := strings.Fields("report diagnose threads regions tasks icvs stacks breakpoints layout doctor version")
	want := slices.Concat(looks, otherVerbs)
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Errorf("the verbs are %v, not %v", all, want)
	}
}

// TestLean builds what a lean build is for, and asks what is in it.
func TestLean(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "lean", "../../cmd/ompd-inspect").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	deps := strings.Fields(string(out))
	for _, heavy := range []string{
		"google.golang.org/grpc", "google.golang.org/protobuf/proto", "net/http", "crypto/tls", "html/template",
		"github.com/google/go-dap", "github.com/RoaringBitmap/roaring/v2",
	} {
		if slices.Contains(deps, heavy) {
			t.Errorf("a lean build has %s", heavy)
		}
	}
}

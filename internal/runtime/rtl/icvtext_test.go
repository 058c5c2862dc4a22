package rtl_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestICVText checks the texts of control variables.
func TestICVText(t *testing.T) {
	for got, want := range map[string]string{
		rtl.ListICV(4, []int64{3, 2}, true, nil, "").Text:       "4,3,2",
		rtl.ListICV(1, []int64{0}, true, rtl.BoolText, "").Text: "true,false",
		rtl.IntegerICV(-7, nil, "").Text:                        "-7",
		rtl.IntegerICV(2, rtl.EnabledText, "").Text:             "enabled",
		rtl.EnabledText(0):                                      "disabled",
		rtl.NameOf(1, "none", "one"):                            "one",
		rtl.NameOf(2, "none", "one"):                            "2",
		rtl.AllocatorText(1):                                    "omp_default_mem_alloc",
		rtl.AllocatorText(9):                                    "0x9",
		rtl.AllocatorText(0x7f0000001000):                       "0x7f0000001000",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if v := rtl.ListICV(4, []int64{3}, true, nil, ""); v.Whole || v.Int != 4 {
		t.Errorf("a list of two is %+v", v)
	}
	if v := rtl.ListICV(4, nil, false, nil, ""); v.Whole {
		t.Error("a list whose rest is unknown is whole")
	}
	if v := rtl.IntegerICV(4, nil, "here"); !v.Whole || v.Int != 4 || v.Source != "here" {
		t.Errorf("an integer is %+v", v)
	}
}

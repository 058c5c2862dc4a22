package wire

import (
	"strings"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// suffixes are the formats of exported events, with the ends of the names of their files.
func suffixes() map[ompdv1.ExportFormat]string {
	return map[ompdv1.ExportFormat]string{
		ompdv1.ExportFormat_EXPORT_FORMAT_PERFETTO: ".perfetto-trace",
		ompdv1.ExportFormat_EXPORT_FORMAT_CHROME:   ".json",
		ompdv1.ExportFormat_EXPORT_FORMAT_PPROF:    ".pb.gz",
		ompdv1.ExportFormat_EXPORT_FORMAT_LINES:    ".jsonl",
		ompdv1.ExportFormat_EXPORT_FORMAT_RECORDS:  ".ompt-records",
	}
}

// Suffix is how names of files of a format end, as internal/trace/export has them; "" if there is no
// such format.
func Suffix(f ompdv1.ExportFormat) string { return suffixes()[f] }

// FormatOf is the format that a file's name asks for, unspecified if it asks for none.
func FormatOf(name string) ompdv1.ExportFormat {
	for f, suffix := range suffixes() {
		if strings.HasSuffix(name, suffix) {
			return f
		}
	}
	return ompdv1.ExportFormat_EXPORT_FORMAT_UNSPECIFIED
}

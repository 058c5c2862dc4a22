package wire

import (
	"strings"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// suffixes maps the formats of exported events to the suffixes of their file names.
func suffixes() map[ompdv1.ExportFormat]string {
	return map[ompdv1.ExportFormat]string{
		ompdv1.ExportFormat_EXPORT_FORMAT_PERFETTO: ".perfetto-trace",
		ompdv1.ExportFormat_EXPORT_FORMAT_CHROME:   ".json",
		ompdv1.ExportFormat_EXPORT_FORMAT_PPROF:    ".pb.gz",
		ompdv1.ExportFormat_EXPORT_FORMAT_LINES:    ".jsonl",
		ompdv1.ExportFormat_EXPORT_FORMAT_RECORDS:  ".ompt-records",
	}
}

// Suffix returns the suffix of file names of a format, as in internal/trace/export; "" for an unknown format.
func Suffix(f ompdv1.ExportFormat) string { return suffixes()[f] }

// FormatOf returns the format for a file's name; unspecified if the suffix is unknown.
func FormatOf(name string) ompdv1.ExportFormat {
	for f, suffix := range suffixes() {
		if strings.HasSuffix(name, suffix) {
			return f
		}
	}
	return ompdv1.ExportFormat_EXPORT_FORMAT_UNSPECIFIED
}

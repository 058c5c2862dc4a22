package libgomp

import (
	"bytes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// recognize reports whether a module that defines these symbols contains GNU libgomp. It returns the release as
// far as the symbols show it.
func recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	t, mod := rtl.SymbolsOnly(defines, path)
	if !isRuntime(t, mod) {
		return rtl.Kind{}, false
	}
	id := identify(t, mod, &fingerprint{})
	return rtl.Kind{Family: id.Family, Name: id.Name, Version: id.Version}, true
}

// recognizeStripped reports whether an executable without symbols has GNU libgomp linked in, judged by texts in
// its constant data: the prefix of the runtime's errors and the name of one of its settings. Every such program
// contains the object files with these texts.
func recognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	if !contains(withNUL("\nlibgomp: ")) || !contains(withNUL("GOMP_SPINCOUNT")) {
		return rtl.Kind{}, false
	}
	return rtl.Kind{Family: family, Name: fullName}, true
}

// maxImage bounds the part of an executable that is searched for the runtime's texts, in bytes.
const maxImage = 256 << 20

// linkedIn reports whether the file of a stripped executable contains the runtime's texts.
func linkedIn(img callbacks.Image) bool {
	_, ok := recognizeStripped(func(text string) bool { return holds(img, text) })
	return ok
}

// holds reports whether a file contains a text.
func holds(img callbacks.Image, text string) bool {
	if whole, ok := img.(interface{ Bytes() []byte }); ok {
		return bytes.Contains(whole.Bytes(), []byte(text))
	}
	const chunk = 64 << 10
	buf := make([]byte, chunk)
	for off := int64(0); off < min(img.Size(), maxImage); off += int64(chunk - len(text)) {
		n, err := img.ReadAt(buf, off)
		if bytes.Contains(buf[:n], []byte(text)) {
			return true
		}
		if err != nil {
			break
		}
	}
	return false
}

// withNUL returns text with a NUL appended. It is built at run time: otherwise this program would find the
// constant in itself.
func withNUL(text string) string { return string(append([]byte(text), 0)) }

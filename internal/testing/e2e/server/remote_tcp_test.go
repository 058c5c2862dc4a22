package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// pemFiles writes a certificate for the loopback address, signed by itself, and its
// key.
func pemFiles(t *testing.T, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return secretFile(t, name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		secretFile(t, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs})))
}

func secretFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServedOverTCP runs a verb at a server over TCP, with a token, with certificates and with both: the output
// equals the local one. Clients with wrong ones are refused.
func TestServedOverTCP(t *testing.T) {
	core := e2e.DumpProgram(t, "nested").Core
	_, want, _ := e2e.Output(t, "threads", core)
	token, other := secretFile(t, "token", strings.Repeat("a", 32)), secretFile(t, "other", strings.Repeat("b", 32))
	serverCert, serverKey := pemFiles(t, "server")
	ownCert, ownKey := pemFiles(t, "own")
	strangeCert, strangeKey := pemFiles(t, "strange")
	at := []string{"--listen", "tcp://127.0.0.1:0", "--allow-dir", "/"}
	tokens := []string{"--token-file", token}
	certs := []string{"--tls-cert", serverCert, "--tls-key", serverKey, "--tls-client-ca", ownCert}
	byToken := e2e.Serve(t, slices.Concat(at, tokens)...)
	byCert := e2e.Serve(t, slices.Concat(at, certs)...)
	byBoth := e2e.Serve(t, slices.Concat(at, certs, tokens)...)
	ours := []string{"--server-ca", serverCert, "--server-cert", ownCert, "--server-key", ownKey}
	for _, tt := range []struct {
		name   string
		flags  []string
		wanted string // part of the error; empty: no error
	}{
		{"token", []string{"--server", byToken, "--server-token-file", token}, ""},
		{"no token", []string{"--server", byToken}, "token"},
		{"wrong token", []string{"--server", byToken, "--server-token-file", other}, "token"},
		{"certificate", append([]string{"--server", byCert}, ours...), ""},
		{"no certificate", []string{"--server", byCert, "--server-ca", serverCert}, "certificate"},
		{"strange certificate", []string{"--server", byCert, "--server-ca", serverCert, "--server-cert", strangeCert,
			"--server-key", strangeKey}, "certificate"},
		{"strange server", []string{"--server", byCert, "--server-ca", strangeCert, "--server-cert", ownCert,
			"--server-key", ownKey}, "certificate"},
		{"no encryption", []string{"--server", byCert}, "server"},
		{"both", append([]string{"--server", byBoth, "--server-token-file", token}, ours...), ""},
		{"certificate without token", append([]string{"--server", byBoth}, ours...), "token"},
		{"token in clear", []string{"--server", "tcp://192.0.2.1:1", "--server-token-file", token}, "--server-ca"},
	} {
		status, out, errs := e2e.Output(t, append(tt.flags, "threads", core)...)
		if tt.wanted == "" && (status != cli.ExitOK || out != want || errs != "") || tt.wanted != "" &&
			(status != cli.ExitError || out != "" || !strings.Contains(errs, tt.wanted)) {
			t.Errorf("%s: exit status %d: %s%s", tt.name, status, errs, out)
		}
	}
}

package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
)

// addFlags adds the flags that name a server.
func (o *serverOptions) addFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&o.address, "server", "", "run the verb on a server: unix:///path or tcp://host:port (see serve)")
	f.StringVar(&o.tokenFile, "server-token-file", "", "file with the token for the server")
	f.StringVar(&o.ca, "server-ca", "", "file with the CA certificates that the server's certificate must be signed "+
		"by (PEM)")
	f.StringVar(&o.cert, "server-cert", "", "file with the client certificate for the server (PEM)")
	f.StringVar(&o.key, "server-key", "", "file with the key of the client certificate (PEM)")
}

func isTCP(address string) bool { return strings.HasPrefix(address, "tcp://") }

// minToken is the length of the shortest accepted token: 16 random characters cannot be guessed.
const minToken = 16

// maxSecret bounds the files of secrets, keys and certificates, in bytes.
const maxSecret = 1 << 20

// readToken reads a token or a secret, as what names it, from a file that only its owner can read. It returns ""
// without a file.
func readToken(what, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	st, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: others can read %s: chmod 600 %s", what, name, name)
	}
	b, err := files.Read(name, maxSecret, nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < minToken {
		return "", fmt.Errorf("%s: %s has less than %d characters: head -c 32 /dev/urandom | base64 > %s", what, name,
			minToken, name)
	}
	return token, nil
}

// readAuthorities reads a file of CA certificates.
func readAuthorities(name string) (*x509.CertPool, error) {
	b, err := files.Read(name, maxSecret, nil)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", name)
	}
	return pool, nil
}

// loadPair reads a certificate and its key.
func loadPair(cert, key string) (tls.Certificate, error) {
	c, err1 := files.Read(cert, maxSecret, nil)
	k, err2 := files.Read(key, maxSecret, nil)
	if err := errors.Join(err1, err2); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(c, k)
}

// serverTLS returns the TLS configuration of serve; nil if connections are not encrypted.
func serverTLS(o *serveOptions) (*tls.Config, error) {
	if o.cert == "" && o.key == "" && o.clientCA == "" {
		return nil, nil
	}
	if o.cert == "" || o.key == "" {
		return nil, usageError{errors.New("serve: --tls-cert and --tls-key go together, and --tls-client-ca needs " +
			"both")}
	}
	cert, err := loadPair(o.cert, o.key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	if o.clientCA != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		if config.ClientCAs, err = readAuthorities(o.clientCA); err != nil {
			return nil, fmt.Errorf("--tls-client-ca: %w", err)
		}
	}
	return config, nil
}

// clientTLS returns the TLS configuration for a server; nil if the connection is not encrypted.
func clientTLS(o serverOptions) (*tls.Config, error) {
	if o.ca == "" && o.cert == "" && o.key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	var err error
	if o.ca != "" {
		if config.RootCAs, err = readAuthorities(o.ca); err != nil {
			return nil, fmt.Errorf("--server-ca: %w", err)
		}
	}
	if o.cert != "" || o.key != "" {
		cert, err := loadPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// franz-go under test: one JSON command a line on standard input, one JSON answer a line on standard output.
//
// Which commands there are, and what they answer, is written in tests/interop/support/clients/commands.py.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Login is how a client authenticates; nil for not at all.
type Login struct {
	Mechanism, Username, Password string
	TokenFile                     string `json:"token_file"` // of OAUTHBEARER
}

// TLS has paths of PEM files; a client without a certificate of its own leaves the last two out.
type TLS struct {
	CA, Certificate, Key string
}

// Command is what a line asks for; what a command does not need is left out.
type Command struct {
	Do          string
	Bootstrap   string
	Login       *Login
	TLS         *TLS
	Topic       string
	Group       string
	Values      []string
	Headers     map[string]string
	Compression string
	Idempotent  bool
	Transaction string // transactional id
	Abort       bool
	Committed   bool
	Count       int
	Protocol    string
	Instance    string // group.instance.id
	Partitions  int32
	Before      int64
}

// Answer is whatever the command answers.
type Answer map[string]any

var commands = map[string]func(context.Context, Command) (Answer, error){
	"produce":        produce,
	"fetch":          fetch,
	"offsets":        offsets,
	"group":          group,
	"share":          share,
	"create_topic":   createTopic,
	"describe_topic": describeTopic,
	"delete_topic":   deleteTopic,
	"configs":        configs,
	"groups":         groups,
	"delete_records": deleteRecords,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := run(lines.Bytes())
		if err != nil {
			answer = Answer{"error": "franz-go", "message": err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}

func run(line []byte) (Answer, error) {
	var command Command
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	do, known := commands[command.Do]
	if !known {
		return nil, fmt.Errorf("unknown command %q", command.Do)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return do(ctx, command)
}

// connect makes a client. Nothing is sent yet.
func connect(command Command, more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{kgo.SeedBrokers(command.Bootstrap), kgo.MetadataMinAge(100 * time.Millisecond)}
	if login := command.Login; login != nil {
		user := scram.Auth{User: login.Username, Pass: login.Password}
		switch login.Mechanism {
		case "PLAIN":
			options = append(options, kgo.SASL(plain.Auth{User: user.User, Pass: user.Pass}.AsMechanism()))
		case "SCRAM-SHA-256":
			options = append(options, kgo.SASL(user.AsSha256Mechanism()))
		case "SCRAM-SHA-512":
			options = append(options, kgo.SASL(user.AsSha512Mechanism()))
		case "OAUTHBEARER":
			options = append(options, kgo.SASL(oauth.Oauth(login.token)))
		}
	}
	if command.TLS != nil {
		config, err := command.TLS.config()
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	return kgo.NewClient(append(options, more...)...)
}

func (l *Login) token(context.Context) (oauth.Auth, error) {
	token, err := os.ReadFile(l.TokenFile)
	return oauth.Auth{Token: string(token)}, err
}

func (t *TLS) config() (*tls.Config, error) {
	authority, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if t.Certificate != "" {
		own, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

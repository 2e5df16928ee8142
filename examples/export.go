// Posts three orders, and streams all events of a query as NDJSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

type event struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	Tags []string `json:"tags"`
}

func setting(name, standard string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	if standard == "" {
		log.Fatalf("set %s", name)
	}
	return standard
}

// call sends a request, and ends the program with the service's words if it is refused.
func call(method, address, body string, headers map[string]string) io.ReadCloser {
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		log.Fatalf("%s: %s", response.Status, text)
	}
	return response.Body
}

func export(api string) []event {
	query := url.Values{"query": {"GET events WHERE source = 'go' SORT created"}, "format": {"ndjson"}, "apikey": {setting("LOGGIA_KEY", "")}}
	stream := call("GET", api+"/export?"+query.Encode(), "", nil)
	defer stream.Close()
	events := []event{}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one event
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			log.Fatal(err)
		}
		events = append(events, one)
	}
	return events
}

func main() {
	path := "/1/logs/" + setting("LOGGIA_LOG", "")
	post := setting("LOGGIA_POST", "http://127.0.0.1:8081") + path + "/events"
	api := setting("LOGGIA_API", "http://127.0.0.1:8080") + path
	lines := `{"text":"Order 1 paid","source":"go","tags":["order","paid"],"value":12.5}
{"text":"Order 2 paid","source":"go","tags":["order","paid"],"value":7}
{"text":"Order 3 failed","source":"go","tags":["order","error"],"attributes":{"reason":"card"}}`
	call("POST", post, lines, map[string]string{
		"apikey":       setting("LOGGIA_KEY", ""),
		"Content-Type": "application/x-ndjson",
		// A repeat under the same key is stored once.
		"Idempotency-Key": fmt.Sprintf("go-%d", time.Now().UnixNano()),
	}).Close()
	events := export(api)
	for ; len(events) < 3; events = export(api) {
		time.Sleep(200 * time.Millisecond)
	}
	for _, one := range events {
		fmt.Println(one.ID, one.Text, strings.Join(one.Tags, " "))
	}
}

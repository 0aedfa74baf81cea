-- Durable creates: each request makes a new ConfigMap of about 1.7 KB. TOKEN comes from the environment.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  math.randomseed(os.time() * 31 + number)
  stem = string.format("b%d-%x-%x", number, os.time(), math.random(2 ^ 30))
  serial = 0
  filling = string.rep("m", 1500)
  headers = {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. (os.getenv("TOKEN") or ""),
  }
end

function request()
  serial = serial + 1
  local body = string.format(
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s-%d","labels":{"app":"bench"}},"data":{"k":"%s"}}',
    stem, serial, filling)
  return wrk.format("POST", "/api/v1/namespaces/default/configmaps", headers, body)
end

function done(summary, latency, requests)
  local bad = summary.errors
  io.write(string.format("RESULT %d %d %.3f %.3f %d\n", summary.requests, summary.duration,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    bad.status + bad.connect + bad.read + bad.write + bad.timeout))
end

# name: Sequel
# packages: ruby-sequel ruby-pg
# declare: `jsonb :doc`, and `Sequel.extension :pg_json_ops`
require "json"
require "date"
begin
  require "sequel"
  require "pg"
rescue LoadError => error
  warn error.message
  exit 77
end
DB = Sequel.postgres(host: ENV["PGHOST"], port: ENV["PGPORT"], user: ENV["PGUSER"], database: ENV["PGDATABASE"], max_connections: 1)
DB.extension :pg_array
Sequel.extension :pg_json_ops
doc = Sequel.pg_jsonb_op(:doc)
town = doc.get_text("town")
find = ->(*conditions) { DB[:person].select(:id).where(*conditions) }
cases = {
  "text =" => -> { find[town => "Town 7"] },
  "number =" => -> { find[doc.get_text("age").cast(Integer) => 30] },
  "number >" => -> { find[doc.get_text("age").cast(Float) > 85] },
  "boolean" => -> { find[doc.get_text("ok").cast(:boolean) => true] },
  "date" => -> { find[doc.get_text("born").cast(Date) < Date.new(1970, 1, 5)] },
  "nested" => -> { find[doc["address"].get_text("city") => "City 7"] },
  "path" => -> { find[doc.get_text(Sequel.pg_array(["address", "city"])) => "City 7"] },
  "subscript" => -> { find[doc["town"] => Sequel.lit(%q('"Town 7"'::jsonb))] },
  "IN" => -> { find[town => ["Town 7", "Town 8"]] },
  "OR" => -> { find[town => "Town 7"].or(town => "Town 8") },
  "OR of two" => -> { find[town => "Town 7"].or(doc["address"].get_text("city") => "City 8") },
  "LIKE" => -> { find[Sequel.expr(town).like("Town 7%")] },
  "ILIKE" => -> { find[Sequel.expr(town).ilike("town 7%")] },
  "IS NULL" => -> { find[town => nil] },
  "array has" => -> { find[doc["tags"].contains(["t7"].to_json)] },
  "key exists" => -> { find[doc["tags"].has_key?("t7")] },
  "path exists" => -> { find[doc.path_exists('$.lines[*] ? (@.name == "L7")')] },
  "document has" => -> { find[doc.contains({ town: "Town 7" }.to_json)] },
  "element has" => -> { find[doc.contains({ lines: [{ name: "L7", qty: 2 }] }.to_json)] },
  "order, limit" => -> { find[Sequel.~(town => nil)].order(Sequel.lit("doc ->> 'town' COLLATE \"C\""), :id).limit(10) },
  "count" => -> { find[town => "Town 7"].count },
  "stream" => -> { find[town => "Town 7"].use_cursor(rows_per_fetch: 3).to_a },
  "prepared" => -> { statement = find[town => :$town].prepare(:select, :person_of_town); 7.times { statement.call(town: "Town 7") }; statement.call(town: "Town 7") },
  "lock" => -> { DB.transaction { find[town => "Town 7"].for_update.skip_locked.to_a } },
  "update" => -> { find[town => "Town 7"].update(doc: doc.concat('{"moved": true}')) },
  "delete" => -> { find[town => "Town 8"].delete },
}
cases.each do |name, run|
  DB.run("SELECT 'case: #{name}'")
  answer = begin
    found = run.call
    found.is_a?(Integer) ? found : found.map { |row| row[:id] }
  rescue StandardError => error
    "error: #{error.message.lines.first.chomp}"
  end
  puts JSON.generate([name, answer])
end
DB.run("SELECT 'case: end'")

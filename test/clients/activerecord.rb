# name: ActiveRecord
# packages: ruby-activerecord ruby-pg
# declare: `t.jsonb :doc`
require "json"
begin
  require "active_record"
  require "pg"
rescue LoadError => error
  warn error.message
  exit 77
end
ActiveRecord::Base.establish_connection(adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], username: ENV["PGUSER"], database: ENV["PGDATABASE"], pool: 1)

class Person < ActiveRecord::Base
  self.table_name = "person"
end

def find(*conditions) = Person.select(:id).where(*conditions)
member = ->(name) { Arel::Nodes::InfixOperation.new("->>", Person.arel_table[:doc], Arel::Nodes.build_quoted(name)) }
cases = {
  "text =" => -> { find("doc ->> 'town' = ?", "Town 7") },
  "text = (Arel)" => -> { find(member["town"].eq("Town 7")) },
  "number =" => -> { find("(doc ->> 'age')::int = ?", 30) },
  "number >" => -> { find("(doc ->> 'age')::numeric > ?", 85) },
  "boolean" => -> { find("(doc ->> 'ok')::boolean = ?", true) },
  "date" => -> { find("(doc ->> 'born')::date < ?", Date.new(1970, 1, 5)) },
  "nested" => -> { find("doc -> 'address' ->> 'city' = :city", city: "City 7") },
  "IN" => -> { find("doc ->> 'town' IN (?)", ["Town 7", "Town 8"]) },
  "OR" => -> { find("doc ->> 'town' = ?", "Town 7").or(find("doc ->> 'town' = ?", "Town 8")) },
  "OR of two" => -> { find("doc ->> 'town' = ?", "Town 7").or(find("doc -> 'address' ->> 'city' = ?", "City 8")) },
  "LIKE" => -> { find("doc ->> 'town' LIKE ?", "Town 7%") },
  "ILIKE" => -> { find(member["town"].matches("town 7%")) },
  "IS NULL" => -> { find("doc ->> 'town' IS NULL") },
  "array has" => -> { find("doc -> 'tags' @> ?", ["t7"].to_json) },
  "key exists" => -> { find("jsonb_exists(doc -> 'tags', ?)", "t7") },
  "document has" => -> { find("doc @> ?", { town: "Town 7" }.to_json) },
  "element has" => -> { find("doc @> ?", { lines: [{ name: "L7", qty: 2 }] }.to_json) },
  "document =" => -> { find(doc: { town: "Town 7" }) },
  "order, limit" => -> { find("doc ->> 'town' IS NOT NULL").order(Arel.sql("doc ->> 'town' COLLATE \"C\""), :id).limit(10) },
  "count" => -> { find("doc ->> 'town' = ?", "Town 7").count },
  "stream" => -> { find("doc ->> 'town' = ?", "Town 7").find_each(batch_size: 3).map(&:id) },
  "lock" => -> { Person.transaction { find("doc ->> 'town' = ?", "Town 7").lock("FOR UPDATE SKIP LOCKED").to_a } },
  "update" => -> { find("doc ->> 'town' = ?", "Town 7").update_all(%q(doc = doc || '{"moved": true}')) },
  "delete" => -> { find("doc ->> 'town' = ?", "Town 8").delete_all },
}
cases.each do |name, run|
  Person.connection.execute("SELECT 'case: #{name}'")
  answer = begin
    found = run.call
    found.is_a?(Integer) ? found : found.map { |row| row.is_a?(Integer) ? row : row.id }
  rescue StandardError => error
    "error: #{error.message.lines.first.chomp}"
  end
  puts JSON.generate([name, answer])
end
Person.connection.execute("SELECT 'case: end'")

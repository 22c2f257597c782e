# Rails' schema.rb of a database with two index tables over "person": "person_town", which is sparse, beside it, and "person_age" in a
# schema of its own. It is loaded into the database "loaded", where create() makes the plain table an index table again. Before
# version 7.1 Rails does not know UNIQUE NULLS NOT DISTINCT, which index tables have that are not sparse. clients.sh runs this.
begin
  require 'active_record'
rescue LoadError
  exit 77
end
require 'stringio'

def connect(database)
  ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'], username: ENV['PGUSER'], database: database)
  ActiveRecord::Base.connection
end

def schema_of(database)
  connect(database)
  schema = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord.version < Gem::Version.new('7.2') ? ActiveRecord::Base.connection : ActiveRecord::Base.connection_pool, schema)
  schema.string
end

schema = schema_of(ENV['PGDATABASE'])
abort 'schema.rb lacks person_town' unless schema =~ /create_table "person_town".*comment: "index table of public\.person/
abort 'schema.rb has person_age' if schema.include?('person_age')
loaded = connect('loaded')
ActiveRecord::Schema.verbose = false
eval schema
loaded.execute("SET client_min_messages = warning; INSERT INTO person VALUES (1, '{\"town\": \"Rome\"}')")
loaded.execute("SELECT indextable.create('person_town', 'person', '{town}', sparse => true, if_not_exists => true)")
found = loaded.select_values('SELECT town FROM person_town')
abort "person_town has #{found}" unless found == ['Rome']
loaded.execute("SELECT indextable.create('person_name', 'person', '{name}')")
expected = ActiveRecord.version < Gem::Version.new('7.1') ? 'Could not dump table "person_name"' : 'create_table "person_name"'
abort 'schema.rb has something else of person_name' unless schema_of('loaded').include?(expected)
puts 'Rails: schema.rb has plain tables with comments, which create() makes index tables again'

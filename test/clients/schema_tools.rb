# Rails' schema.rb of a database with two index tables over "person": "person_town" beside it, and "person_age" in a schema of its own.
# It is loaded into the database "loaded", where create() makes the plain table an index table again. clients.sh runs this.
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

schema = StringIO.new
connect(ENV['PGDATABASE'])
ActiveRecord::SchemaDumper.dump(ActiveRecord.version < Gem::Version.new('7.2') ? ActiveRecord::Base.connection : ActiveRecord::Base.connection_pool, schema)
abort 'schema.rb lacks person_town' unless schema.string =~ /create_table "person_town".*comment: "index table of public\.person/
abort 'schema.rb has person_age' if schema.string.include?('person_age')
loaded = connect('loaded')
ActiveRecord::Schema.verbose = false
eval schema.string
loaded.execute("SET client_min_messages = warning; INSERT INTO person VALUES (1, '{\"town\": \"Rome\"}')")
loaded.execute("SELECT indextable.create('person_town', 'person', '{town}', if_not_exists => true)")
found = loaded.select_values('SELECT town FROM person_town')
abort "person_town has #{found}" unless found == ['Rome']
puts 'Rails: schema.rb has plain tables with comments, which create() makes index tables again'
